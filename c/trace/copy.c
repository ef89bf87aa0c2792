/* Samples through a kernel pipe, from a source's thread to a sink's: how long are they on their way? */
#define DROPLINE_TRACE_IMPLEMENTATION
#include "dropline_trace.h"
#include <stdlib.h>

enum { GRANULARITY = 32768, BLOCK = 4096 };
static int ends[2];
static uint64_t samples = 32768000;

static void *source(void *block)
{
    struct dropline_granules sent = DROPLINE_GRANULES(GRANULARITY);
    for (uint64_t n = 0; n < samples; n += BLOCK) {
        dropline_tx_samples(&sent, 0, BLOCK); /* before they are handed on */
        if (write(ends[1], block, BLOCK) != BLOCK)
            exit(1);
    }
    close(ends[1]);
    return 0;
}

int main(int count, char **words)
{
    static char block[BLOCK], copy[2 * BLOCK];
    struct dropline_granules received = DROPLINE_GRANULES(GRANULARITY);
    pthread_t thread;
    ssize_t n;
    samples = count > 1 ? strtoull(words[1], 0, 10) : samples;
    dropline_join();
    if (pipe(ends) != 0 || pthread_create(&thread, 0, source, block) != 0)
        return 1;
    while ((n = read(ends[0], copy, sizeof copy)) > 0)
        dropline_rx_samples(&received, 0, (uint64_t)n);
    return pthread_join(thread, 0);
}
