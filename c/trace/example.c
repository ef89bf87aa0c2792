/* A pipe of one stage, traced: granules of 1000 samples go through it. */
#define DROPLINE_TRACE_IMPLEMENTATION
#include "dropline_trace.h"
#include <pthread.h>
#include <stdlib.h>

static uint64_t granules;

static void stage(uint64_t sum)
{
    int sample;
    volatile uint64_t sink = sum;
    DROPLINE_PROBE("stage");
    for (sample = 0; sample < 1000; sample++)
        sink = sink * 3 + 1;
}

static void *pipe_main(void *number)
{
    uint32_t pipe = (uint32_t)(uintptr_t)number;
    uint64_t n;
    for (n = 1; n <= granules; n++) {
        dropline_tx(pipe, n);
        stage(n);
        dropline_rx(pipe, n);
    }
    return 0;
}

int main(int count, char **words)
{
    pthread_t second;
    granules = count > 1 ? strtoull(words[1], 0, 10) : 100;
    if (pthread_create(&second, 0, pipe_main, (void *)2) != 0)
        return 1;
    pipe_main((void *)1);
    pthread_join(second, 0);
    dropline_event(7, 8, 9, 10);
    return 0;
}
