/* At the interface where frames come out: what is the trial's is judged and taken, everything else goes on as if nobody were
 * here. */
#include "layout.h"

/* A frame of 1518 bytes has so many words of 64 bits behind its IP header. */
#define MOST_WORDS 186

#define COUNT(what) __sync_fetch_and_add((u64 *)&CONTROL->what, 1)

INLINE u32 at(const u8 *place)
{
	return *(const u32 *)place;
}

/* Of an IP packet, its header included. */
INLINE u32 length_of(const u8 *data)
{
	u32 length = big(*(const u16 *)(data + IP_LENGTH));

#ifdef IPV6
	length += UDP - IP;
#endif
	return length;
}

/* Whether the UDP checksum is right, or 0, which says of IPv4 that there is none: a station takes that (RFC 768). What is behind the IP packet
 * is not under it. What is behind the last word of 64 bits is added first, at a place that does not come of the loop, and the loop's place is
 * one of which the verifier does not know that it is in the same packet as others: so it need not follow the rest of the program from every
 * turn of the loop. */
INLINE int is_whole(const u8 *data, const u8 *end)
{
	u64 sum = big(17) + (u64)*(const u16 *)(data + UDP + 4);
	const u8 *place = data + UDP;
	u64 rest = end - place, none = 0, said = length_of(data) - (UDP - IP);
	const u8 *last;

#ifdef IPV6
	for (u32 word = 0; word < 8; word++)
		sum += at(data + IP + 8 + 4 * word);
#else
	sum += (u64)at(data + SOURCE) + at(data + DESTINATION);
#endif
	if (said < rest)
		rest = said;
	asm volatile("" : "+r"(rest), "+r"(none));
	last = place + (rest & 0x7f8);
	if (rest & 4) {
		if (last + 4 > end)
			return 0;
		sum += at(last);
		last += 4;
	}
	if (rest & 2) {
		if (last + 2 > end)
			return 0;
		sum += *(const u16 *)last;
		last += 2;
	}
	if (rest & 1) {
		if (last + 1 > end)
			return 0;
		sum += *last;
	}
	place += none & 7;
	rest >>= 3;
	for (u32 word = 0; word < MOST_WORDS; word++) {
		if (word >= rest || place + 8 > end)
			break;
		sum += halves(*(const u64 *)place);
		place += 8;
	}
#ifndef IPV6
	if (!*(const u16 *)(data + CHECKSUM))
		return 1;
#endif
	return folded(sum) == 0xffff;
}

/* Whether a station would take it as what was sent: for our hardware address, of its version of IP and UDP, from and to where it was sent,
 * and with a right checksum of its header where that has one; `data` is behind the tag of a VLAN, if it has one. */
INLINE int is_for_us(const u8 *start, const u8 *data, u32 flow)
{
#ifdef IPV6
	int whole = (data[IP] & 0xf0) == 0x60 && at(data + SOURCE - 12) == (u32)CONTROL->before1 &&
		    at(data + SOURCE - 8) == (u32)(CONTROL->before1 >> 32) && at(data + SOURCE - 4) == (u32)CONTROL->before2 &&
		    at(data + DESTINATION - 12) == (u32)CONTROL->before3 &&
		    at(data + DESTINATION - 8) == (u32)(CONTROL->before3 >> 32) &&
		    at(data + DESTINATION - 4) == (u32)CONTROL->before4;
#else
	u64 sum = 0;
	int whole;

	for (u32 word = 0; word < 10; word++)
		sum += *(const u16 *)(data + IP + 2 * word);
	whole = data[IP] == 0x45 && folded(sum) == 0xffff;
#endif
	return whole && at(start) == (u32)CONTROL->station && *(const u16 *)(start + 4) == (u16)(CONTROL->station >> 32) &&
	       *(const u16 *)(data + ETHERTYPE) == big(IP_TYPE) && data[PROTOCOL] == 17 && at(data + SOURCE) == source_of(flow) &&
	       at(data + DESTINATION) == (u32)CONTROL->destination && *(const u16 *)(data + UDP) == port_of(flow) &&
	       *(const u16 *)(data + UDP + 2) == big(CONTROL->to_port);
}

PROGRAM int judge(struct xdp_md *frame)
{
	const u8 *data = (const u8 *)(u64)frame->data;
	const u8 *end = (const u8 *)(u64)frame->data_end;
	const u8 *start = data;
	u32 length, age, index, tagged, ours, whole;
	struct slot *slot;
	u64 word, most;

	if (data + UDP + 8 > end)
		return XDP_PASS;
	tagged = *(const u16 *)(data + ETHERTYPE) == big(0x8100) || *(const u16 *)(data + ETHERTYPE) == big(0x88a8);
	if (tagged) {
		/* Some drivers take a tag off before: a frame without its own is whole. */
		tagged = (*(const u16 *)(data + ETHERTYPE + 2) & big(0x0fff)) != (u16)CONTROL->tagged;
		data += VLAN;
	}
	if (data + SHORTEST > end) {
		/* Too short for our mark, and yet said to be as long as ours. */
		if (tagged || start != data || !is_for_us(start, data, 0) || length_of(data) != CONTROL->length)
			return XDP_PASS;
		COUNT(truncated);
		return XDP_DROP;
	}
	/* Whatever became of a frame, it is ours where its mark or its tag is. */
	age = (u32)CONTROL->tag - __builtin_bswap32(at(data + TAG));
	if (age && at(data + PAYLOAD) != (u32)CONTROL->mark)
		return XDP_PASS;
	/* The first frames of every trial have the tag before that of the first trial: then the others are later by number. */
	if (age && (age <= CONTROL->earlier || (u32)-age <= CONTROL->earlier)) {
		COUNT(late);
		return XDP_DROP;
	}
	word = *(const u64 *)(data + WORD);
	index = __builtin_bswap64(word);
	length = length_of(data);
	ours = !tagged && is_for_us(start, data, flow_of(index));
	whole = is_whole(data, end);
	/* One with another tag is that of another program, unless it is as long as ours and damaged. From and to where ours go it is of an
	 * earlier process of ours: whatever is on this interface, or behind it, does not get it. */
	if (age && whole && ours) {
		COUNT(late);
		return XDP_DROP;
	}
	if (age && (length != CONTROL->length || whole))
		return XDP_PASS;
	if (!ours) {
		COUNT(changed);
		return XDP_DROP;
	}
	if (length < CONTROL->length || (u64)(end - data) < IP + CONTROL->length) {
		COUNT(truncated);
		return XDP_DROP;
	}
	if (length > CONTROL->length) {
		COUNT(extended);
		return XDP_DROP;
	}
	slot = map_lookup(SLOTS, &index);
	if (age || !slot || slot->word != word || !whole) {
		COUNT(changed);
		return XDP_DROP;
	}
	/* What is behind the packet a station does not take, and fills a short frame up; where there is more, that is told. */
	most = IP + CONTROL->length;
	if (most < LEAST)
		most = LEAST;
	if ((u64)(end - data) > most)
		COUNT(padded);
	if (__sync_val_compare_and_swap(&slot->arrived, 0, now_ns()))
		COUNT(duplicated);
	else
		COUNT(unique);
	return XDP_DROP;
}
