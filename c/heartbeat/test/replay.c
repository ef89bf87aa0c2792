/* replay MORE FILE...: hands every file to the fuzzed entry point, then MORE inputs that are made up here, the same
 * each time. For machines without libFuzzer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint32_t chance(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static int hand_file(const char *name, uint8_t *bytes, size_t room)
{
    FILE *file = fopen(name, "rb");
    size_t size;
    if (file == NULL) {
        perror(name);
        return 1;
    }
    size = fread(bytes, 1, room, file);
    fclose(file);
    LLVMFuzzerTestOneInput(bytes, size);
    return 0;
}

int main(int argc, char **argv)
{
    static uint8_t bytes[1 << 16];
    unsigned long more, left;
    int i, missing = 0;
    if (argc < 2) {
        return 2;
    }
    for (i = 2; i < argc; i++) {
        missing += hand_file(argv[i], bytes, sizeof bytes);
    }
    more = strtoul(argv[1], NULL, 10);
    for (left = more; left; left--) {
        const size_t size = chance() % 48;
        size_t at;
        for (at = 0; at < size; at++) {
            bytes[at] = (uint8_t)chance();
        }
        LLVMFuzzerTestOneInput(bytes, size);
    }
    printf("%d files and %lu more\n", argc - 2 - missing, more);
    return missing != 0;
}
