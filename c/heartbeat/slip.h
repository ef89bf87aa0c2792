/* Frames on a serial line (RFC 1055, SLIP): a packet between two END bytes, so that the length is known and a lost byte
 * costs one packet. */
#ifndef SLIP_H
#define SLIP_H

#include <stdint.h>

#define SLIP_END 0xc0
#define SLIP_ESC 0xdb
#define SLIP_ESC_END 0xdc
#define SLIP_ESC_ESC 0xdd
/* Longer frames than any packet of the protocol are of no interest: one byte more shows that they were longer. */
#define SLIP_ROOM 9

typedef struct slip_receiver {
    uint8_t frame[SLIP_ROOM];
    uint8_t length;
    uint8_t escaped;
} slip_receiver;

/* Takes a byte from the line. The answer is the length of receiver->frame when a frame has ended, 0 while none has.
 * The next byte begins the next frame, so use the frame before. */
static inline uint8_t slip_take(slip_receiver *receiver, uint8_t byte)
{
    if (byte == SLIP_END) {
        const uint8_t length = receiver->length;
        receiver->length = 0;
        receiver->escaped = 0;
        return length;
    }
    if (byte == SLIP_ESC) {
        receiver->escaped = 1;
        return 0;
    }
    if (receiver->escaped) {
        receiver->escaped = 0;
        byte = byte == SLIP_ESC_END ? SLIP_END : byte == SLIP_ESC_ESC ? SLIP_ESC : byte;
    }
    if (receiver->length < SLIP_ROOM) {
        receiver->frame[receiver->length++] = byte;
    }
    return 0;
}

/* The bytes that a byte becomes on the line, one or two; END goes before and after all of them. */
static inline uint8_t slip_escape(uint8_t byte, uint8_t escaped[2])
{
    if (byte != SLIP_END && byte != SLIP_ESC) {
        escaped[0] = byte;
        return 1;
    }
    escaped[0] = SLIP_ESC;
    escaped[1] = byte == SLIP_END ? SLIP_ESC_END : SLIP_ESC_ESC;
    return 2;
}

#endif
