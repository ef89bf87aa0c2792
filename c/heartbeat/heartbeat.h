/* Heartbeat: the last sign of life of up to 64 variables, and a report of all of them.
 *
 * Bytes in, bytes out, lengths given; the caller owns everything. Nothing here allocates, blocks, calls back,
 * keeps a pointer or needs a library. SPEC.md says what is on the wire.
 *
 * Copy heartbeat.h and heartbeat.c. An aggregator calls hb_handle with every datagram or frame that arrives; a
 * sender calls hb_encode_heartbeat; a monitor calls hb_encode_request, hb_check_report and hb_read_entry.
 */
#ifndef HEARTBEAT_H
#define HEARTBEAT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many variables a table has room for, 1 to 64. The table takes 4 bytes for each and 4 more. Only reports of 64
 * variables have the length that every monitor knows: choose fewer where RAM is dear and the monitor is yours. */
#ifndef HB_VARIABLES
#define HB_VARIABLES 64
#endif

#if HB_VARIABLES < 1 || HB_VARIABLES > 64
#error "HB_VARIABLES is 1 to 64"
#endif

/* Bytes of a heartbeat and of a report request. */
#define HB_PACKET 8

/* Bytes of a report: its checksum, then 4 for each variable. */
#define HB_REPORT (4 + 4 * HB_VARIABLES)

/* What became of a packet. */
typedef uint8_t hb_result;

/* Neither a heartbeat of a variable that there is, nor a request: nothing was changed, nothing is to be sent. */
#define HB_IGNORED 0
/* A heartbeat: its variable now holds it. Nothing is to be sent. */
#define HB_STORED 1
/* A request: the report is complete and is to be sent, HB_REPORT bytes, to whoever asked. */
#define HB_REPORT_READY 2

/* The last heartbeat of every variable, kept as the report that goes out. All zero is the empty table, so one with
 * static storage needs no preparation. */
typedef struct hb_table {
    uint8_t report[HB_REPORT];
} hb_table;

/* Handles one packet that arrived at `now` seconds; only the low 16 bits are kept.
 *
 * Reads packet[0..packet_len), at any alignment. On HB_REPORT_READY the report is table->report: until it has been
 * sent, nothing may call this with the same table, also no interrupt, because a store changes bytes that are sealed
 * already. At other times the first 4 bytes of table->report mean nothing. */
hb_result hb_handle(hb_table *table, uint16_t now, const uint8_t *packet, size_t packet_len);

/* The same, but on HB_REPORT_READY the report is in `reply`, which must not overlap the table.
 *
 * The report in `reply` may leave by DMA while heartbeats are stored. An interrupt may call hb_handle with the table
 * even while this copies: every byte is read once and the checksum is that of the bytes copied, so the report is
 * always whole, but an entry that was written during its own copying may join old seconds with a new value. Mask the
 * interrupt around the call where that matters. Heartbeats must come from one context only: two that store the same
 * variable at once may mix their bytes. */
hb_result hb_handle_copy(hb_table *table, uint16_t now, const uint8_t *packet, size_t packet_len,
                         uint8_t reply[HB_REPORT]);

/* Writes the heartbeat of a variable. Variables of 64 and more can be written; no aggregator stores them. */
void hb_encode_heartbeat(uint8_t packet[HB_PACKET], uint8_t variable, uint8_t from, uint8_t value);

/* Writes a request for a report. */
void hb_encode_request(uint8_t packet[HB_PACKET]);

/* What a report says of one variable. Never set, and set to value 0 from 0 at second 0, look alike. */
typedef struct hb_entry {
    /* When the heartbeat arrived: the low 16 bits of the aggregator's seconds. */
    uint16_t seconds;
    uint8_t from;
    uint8_t value;
} hb_entry;

/* How many variables a received report has, 1 to 64; 0 if its length or its checksum is wrong. */
uint8_t hb_check_report(const uint8_t *report, size_t report_len);

/* The entry of a variable of a report that was checked and has more than `variable` of them. */
hb_entry hb_read_entry(const uint8_t *report, uint8_t variable);

#ifdef __cplusplus
}
#endif

#endif
