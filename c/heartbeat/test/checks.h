/* The rules that heartbeat.c keeps, as checks that run wherever it runs: on the host, on emulated machines of either
 * byte order, on a simulated AVR. No library: `failed` is told the number of each rule that was broken. */
#ifndef CHECKS_H
#define CHECKS_H

#include "../heartbeat.h"

#define RULES(RULE)                                                                                                    \
    RULE(vectors_of_heartbeats_are_encoded_and_stored)                                                                 \
    RULE(every_variable_of_the_table_is_stored_and_no_other)                                                           \
    RULE(a_heartbeat_with_any_bit_flipped_is_ignored)                                                                  \
    RULE(a_packet_of_any_length_but_8_is_ignored)                                                                      \
    RULE(a_request_with_any_bit_flipped_is_ignored)                                                                    \
    RULE(reports_have_the_checksums_of_the_vectors)                                                                    \
    RULE(full_random_tables_have_the_checksum_of_the_definition)                                                       \
    RULE(a_history_of_packets_leaves_the_table_of_the_model)                                                           \
    RULE(a_copied_report_is_the_sealed_one_and_leaves_the_table_alone)                                                 \
    RULE(packets_and_tables_may_start_at_any_address)                                                                  \
    RULE(a_report_sent_back_is_ignored)                                                                                \
    RULE(a_monitor_accepts_whole_reports_only)

enum {
#define RULE(name) name,
    RULES(RULE)
#undef RULE
        RULE_COUNT
};

/* Runs every rule; `rounds` is how much chance they get: 1 is enough for a vector, 200 for a property. */
void run_checks(unsigned rounds, void (*failed)(int rule));

#endif
