/* What both programs and crates/fastpath/src/maps.rs know of the two maps. Helpers are called by their numbers, and a map is a
 * number that the loader puts the map's file into: so an object file has nothing to be linked, and its instructions are all of it.
 * With IPV6 defined both are of frames of that version of IP. */

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

/* The upper half says which map, the lower half where in its value. */
#define CONTROL ((volatile struct control *)0x5ead000100000000ULL)
#define SLOTS ((void *)0x5ead000200000000ULL)
/* The interface where frames leave, itself and not its number: where it goes away, nothing is there. */
#define DEVICE ((void *)0x5ead000300000000ULL)

/* One frame of the trial. */
struct slot {
	u64 due;      /* ns after the start; written before the trial */
	u64 word;     /* bytes 8 to 15 of its payload: check and index; written before the trial */
	u64 departed; /* on CLOCK_MONOTONIC; 0: it did not leave */
	u64 arrived;  /* 0: it did not come */
};

/* All of 64 bits, in the order of `Field` in maps.rs. */
struct control {
	/* Written before the trial. */
	u64 count;       /* frames of the trial */
	u64 give_up;     /* nothing leaves later after the start */
	u64 spins;       /* looks at the clock in one call of the sender */
	u64 base;        /* sum of the 16-bit words under a frame's UDP checksum, without what differs from frame to frame */
	u64 ip_base;     /* the same of its IP header */
	u64 tagged;      /* the tag of a VLAN, as it stands in the frame; 0: it has none */
	u64 flows;       /* frames take turns with so many source addresses and ports */
	u64 mark;        /* bytes 0 to 3 of every payload */
	u64 tag;         /* of the trial */
	u64 earlier;     /* so many tags before it are of earlier trials */
	u64 length;      /* of the IP packet */
	u64 station;     /* the hardware address of the judge's interface, as it stands in the frame */
	u64 destination; /* the last 32 bits of the address, as they stand in the frame, and the port */
	u64 to_port;
	u64 source;      /* the last 32 bits of the first address, and the first port, as numbers */
	u64 from_port;
	u64 before1;     /* of IPv6, what stands before them: of the source 64 and 32 bits, of the destination likewise */
	u64 before2;
	u64 before3;
	u64 before4;
	u64 head1;       /* the first 88 bytes of a frame, without what differs from frame to frame */
	u64 head2;
	u64 head3;
	u64 head4;
	u64 head5;
	u64 head6;
	u64 head7;
	u64 head8;
	u64 head9;
	u64 head10;
	u64 head11;
	u64 stop;        /* nothing leaves any more */
	/* Written by the sender. */
	u64 epoch;       /* the start; 0: not yet */
	u64 next;        /* index of the next frame */
	/* Written by the judge. */
	u64 unique;
	u64 duplicated;
	u64 late;
	u64 truncated;
	u64 extended;
	u64 changed;
	u64 padded;
};

struct xdp_md {
	u32 data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex;
};

enum { XDP_ABORTED, XDP_DROP, XDP_PASS, XDP_TX, XDP_REDIRECT };

/* Where what stands in a frame without options; the last 32 bits of an address are what differs from flow to flow. */
enum { ETHERTYPE = 12, IP = 14 };
#ifdef IPV6
enum { IP_TYPE = 0x86dd, IP_LENGTH = 18, PROTOCOL = 20, SOURCE = 34, DESTINATION = 50, UDP = 54 };
#else
enum { IP_TYPE = 0x0800, IP_LENGTH = 16, PROTOCOL = 23, IP_CHECKSUM = 24, SOURCE = 26, DESTINATION = 30, UDP = 34 };
#endif
enum { CHECKSUM = UDP + 6, PAYLOAD = UDP + 8, TAG = UDP + 12, WORD = UDP + 16, SHORTEST = UDP + 24, VLAN = 4,
       LEAST = 60 /* bytes that Ethernet fills a frame up to */ };

static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static u64 (*const now_ns)(void) = (void *)5;
static long (*const redirect)(void *devices, u64 which, u64 otherwise) = (void *)51;

#define INLINE static inline __attribute__((always_inline))
#define PROGRAM __attribute__((section("xdp"), used))

INLINE u16 big(u16 value)
{
	return __builtin_bswap16(value);
}

/* Source address and port of a frame, as they stand in it. */
INLINE u32 source_of(u32 flow)
{
	return __builtin_bswap32((u32)CONTROL->source + flow);
}

INLINE u16 port_of(u32 flow)
{
	return big((u16)CONTROL->from_port + (u16)flow);
}

INLINE u32 flow_of(u32 index)
{
	u32 flows = CONTROL->flows;

	return flows ? index % flows : 0;
}

/* To 16 bits, with the carries. */
INLINE u32 folded(u64 sum)
{
	sum = (sum >> 32) + (sum & 0xffffffff);
	sum = (sum >> 32) + (sum & 0xffffffff);
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	return (sum >> 16) + (sum & 0xffff);
}

INLINE u64 halves(u64 word)
{
	return (word >> 32) + (word & 0xffffffff);
}
