/* simulate MCU ELF HANDLE OUTCOME: runs a program in simavr until it sleeps, prints of each call of the function at
 * HANDLE the cycles (the call included) and the bytes of stack (the return address included), and exits with 0 if the
 * byte at OUTCOME became 1. Addresses are hexadecimal, as nm prints them. */
#include <simavr/avr_ioport.h>
#include <simavr/sim_avr.h>
#include <simavr/sim_elf.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned stack_pointer(const avr_t *avr)
{
    return avr->data[R_SPL] | (unsigned)avr->data[R_SPH] << 8;
}

int main(int argc, char **argv)
{
    elf_firmware_t firmware = {0};
    avr_t *avr;
    avr_flashaddr_t handle;
    unsigned outcome;
    if (argc != 5 || elf_read_firmware(argv[2], &firmware) != 0) {
        fprintf(stderr, "simulate MCU ELF HANDLE OUTCOME\n");
        return 3;
    }
    avr = avr_make_mcu_by_name(argv[1]);
    if (avr == NULL || avr_init(avr) != 0) {
        return 3;
    }
    avr->log = LOG_ERROR;
    firmware.frequency = 16000000;
    avr_load_firmware(avr, &firmware);
    handle = (avr_flashaddr_t)strtoul(argv[3], NULL, 16);
    outcome = (unsigned)strtoul(argv[4], NULL, 16) & 0xffff;
    for (;;) {
        const avr_cycle_count_t before = avr->cycle;
        const unsigned above = stack_pointer(avr);
        const int state = avr_run(avr);
        if (avr->pc == handle && stack_pointer(avr) + 2 == above) {
            unsigned lowest = stack_pointer(avr);
            while (stack_pointer(avr) < above) {
                avr_run(avr);
                lowest = stack_pointer(avr) < lowest ? stack_pointer(avr) : lowest;
            }
            printf("%llu %u\n", (unsigned long long)(avr->cycle - before), above - lowest);
        }
        if (state == cpu_Done || state == cpu_Crashed || avr->cycle > 4000000000u) {
            break;
        }
    }
    return avr->data[outcome] == 1 ? 0 : avr->data[outcome] ? avr->data[outcome] : 255;
}
