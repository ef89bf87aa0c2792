/* At an interface with a service of ours behind it: a packet of ours to that service that wants a reply is sent back from here, with the mark of
 * one that was answered, and everything else goes on to the service as if nobody were here. One frame makes one, of the same length. */
#include "layout.h"

struct page {
	u64 address;   /* of the service, as it stands in a frame */
	u64 port;      /* as a number */
	u64 mark;      /* bytes 0 to 3 of the payload of a packet that wants a reply */
	u64 reflected; /* written here */
};
#define PAGE ((volatile struct page *)0x5ead000100000000ULL)

/* Flags of a packet that was answered; in its check all bits are turned. */
#define ANSWERED 2
/* Below it are ports of services: a forged packet could begin an endless exchange with them. */
#define FIRST_PORT 1024

INLINE u32 at(const u8 *place)
{
	return *(const u32 *)place;
}

PROGRAM int reflector(struct xdp_md *frame)
{
	u8 *data = (u8 *)(u64)frame->data;
	u8 *end = (u8 *)(u64)frame->data_end;
	u32 length, address;
	u16 part, port;

	if (data + SHORTEST > end || *(u16 *)(data + ETHERTYPE) != big(IP_TYPE) || data[0] & 1 || data[IP] != 0x45 ||
	    data[PROTOCOL] != 17 || *(u16 *)(data + IP + 6) & big(0x3fff))
		return XDP_PASS;
	if (at(data + DESTINATION) != (u32)PAGE->address || *(u16 *)(data + UDP + 2) != big(PAGE->port) ||
	    at(data + PAYLOAD) != (u32)PAGE->mark || big(*(u16 *)(data + UDP)) < FIRST_PORT)
		return XDP_PASS;
	length = big(*(u16 *)(data + IP_LENGTH));
	if (length > (u64)(end - data) - IP || big(*(u16 *)(data + UDP + 4)) + UDP - IP != length)
		return XDP_PASS;
	address = at(data);
	part = *(u16 *)(data + 4);
	*(u32 *)data = at(data + 6);
	*(u16 *)(data + 4) = *(u16 *)(data + 10);
	*(u32 *)(data + 6) = address;
	*(u16 *)(data + 10) = part;
	address = at(data + SOURCE);
	*(u32 *)(data + SOURCE) = at(data + DESTINATION);
	*(u32 *)(data + DESTINATION) = address;
	port = *(u16 *)(data + UDP);
	*(u16 *)(data + UDP) = *(u16 *)(data + UDP + 2);
	*(u16 *)(data + UDP + 2) = port;
	data[PAYLOAD + 3] = ANSWERED;
	*(u16 *)(data + PAYLOAD + 8) ^= 0xffff;
	/* None (RFC 768): where the sender's interface was to make it, what stands there is half of one. */
	*(u16 *)(data + CHECKSUM) = 0;
	__sync_fetch_and_add((u64 *)&PAGE->reflected, 1);
	return XDP_TX;
}
