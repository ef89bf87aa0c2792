/* Run by BPF_PROG_RUN with live frames: each call makes one frame of the trial, when it is due, and sends it. Pages come again,
 * as whatever forwarded them left them, so all that stands before the filler is written in every one. */
#include "layout.h"

/* The verifier follows each look at the clock. */
#define MOST_SPINS 1024
/* From the first call to the start. */
#define LEAD_NS 1000000

PROGRAM int sender(struct xdp_md *frame)
{
	u8 *start = (u8 *)(u64)frame->data, *data = start;
	u8 *end = (u8 *)(u64)frame->data_end;
	u32 index = CONTROL->next;
	struct slot *slot;
	u64 now, due, epoch;
	u32 sum, flow, source;

	if (CONTROL->tagged)
		data += VLAN;
	if (data + SHORTEST > end || CONTROL->stop || index >= CONTROL->count)
		return XDP_DROP;
	slot = map_lookup(SLOTS, &index);
	if (!slot)
		return XDP_DROP;
	now = now_ns();
	/* What the kernel does before the first call takes long on a busy machine, and is no part of the trial. */
	epoch = CONTROL->epoch;
	if (!epoch)
		CONTROL->epoch = epoch = now + LEAD_NS;
	due = epoch + slot->due;
	for (u32 spin = 0; spin < MOST_SPINS; spin++) {
		if (now >= due || spin >= CONTROL->spins)
			break;
		now = now_ns();
	}
	/* Another call: between calls the kernel lets others run. */
	if (now < due || now > epoch + CONTROL->give_up)
		return XDP_DROP;
	*(u64 *)start = CONTROL->head1;
	*(u64 *)(start + 8) = CONTROL->head2;
	*(u64 *)(start + 16) = CONTROL->head3;
	*(u64 *)(start + 24) = CONTROL->head4;
	*(u64 *)(start + 32) = CONTROL->head5;
	*(u64 *)(start + 40) = CONTROL->head6;
	*(u64 *)(start + 48) = CONTROL->head7;
#ifdef IPV6
	*(u64 *)(start + 56) = CONTROL->head8;
	*(u64 *)(start + 64) = CONTROL->head9;
	*(u32 *)(start + 72) = CONTROL->head10;
	*(u16 *)(start + 76) = CONTROL->head10 >> 32;
	if (CONTROL->tagged)
		*(u32 *)(data + SHORTEST - 4) = CONTROL->head10 >> 48 | CONTROL->head11 << 16;
#else
	*(u16 *)(start + 56) = CONTROL->head8;
	if (CONTROL->tagged)
		*(u32 *)(data + SHORTEST - 4) = CONTROL->head8 >> 16;
#endif
	flow = flow_of(index);
	source = source_of(flow);
	*(u32 *)(data + SOURCE) = source;
#ifndef IPV6
	*(u16 *)(data + IP_CHECKSUM) = ~folded(CONTROL->ip_base + source);
#endif
	*(u16 *)(data + UDP) = port_of(flow);
	*(u64 *)(data + WORD) = slot->word;
	sum = ~folded(halves(slot->word) + CONTROL->base + source + port_of(flow)) & 0xffff;
	*(u16 *)(data + CHECKSUM) = sum ? sum : 0xffff;
	/* What has no interface to leave by did not leave, and nothing after it does. */
	if (redirect(DEVICE, 0, XDP_DROP) != XDP_REDIRECT) {
		CONTROL->stop = 1;
		return XDP_DROP;
	}
	slot->departed = now;
	CONTROL->next = index + 1;
	return XDP_REDIRECT;
}
