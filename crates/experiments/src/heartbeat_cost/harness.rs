//! Programs built around a source to call it: a loop for the host, a counter of cycles for the AVR.

use super::object::Object;

/// How an aggregator is called. Known by the symbol that its object defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Interface {
    /// `hb_handle(table, now, packet, length)`: the report stays in the table.
    Heartbeat,
    /// `dumpulse_process_packet(table, packet, context)`, with two callbacks that its user writes.
    Dumpulse,
}

impl Interface {
    /// The interface of an object, if it has one of these.
    pub fn of(object: &Object) -> Option<Self> {
        let defines = |interface: &Self| object.defined.iter().any(|symbol| symbol == interface.entry());
        [Self::Heartbeat, Self::Dumpulse].into_iter().find(defines)
    }

    /// The function that handles a packet.
    pub fn entry(self) -> &'static str {
        match self {
            Self::Heartbeat => "hb_handle",
            Self::Dumpulse => "dumpulse_process_packet",
        }
    }

    /// Declarations, the table and `OPERATE(packet)`.
    fn face(self) -> &'static str {
        match self {
            Self::Heartbeat => {
                "\
typedef struct { uint8_t report[260]; } table_t;
uint8_t hb_handle(table_t *, uint16_t, const uint8_t *, size_t);
table_t table;
#define OPERATE(packet) hb_handle(&table, 12345, (packet), 8)
"
            }
            Self::Dumpulse => {
                "\
typedef struct { unsigned char table[260]; } table_t;
uint8_t dumpulse_process_packet(table_t *, char *, void *);
uint16_t dumpulse_get_timestamp(void) { return 12345; }
void dumpulse_send_packet(void *to, char *data, size_t length) { (void)to; (void)data; (void)length; }
table_t table;
#define OPERATE(packet) dumpulse_process_packet(&table, (char *)(packet), 0)
"
            }
        }
    }
}

/// What is done to the aggregator, in the order of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Nothing: the loop and a call that returns at once.
    Empty,
    /// A heartbeat of variable 62.
    Heartbeat,
    /// The same with a wrong checksum.
    WrongChecksum,
    /// `AreyouNO`.
    Nonsense,
    /// A request.
    Report,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Empty, Self::Heartbeat, Self::WrongChecksum, Self::Nonsense, Self::Report];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "loop alone",
            Self::Heartbeat => "heartbeat",
            Self::WrongChecksum => "wrong checksum",
            Self::Nonsense => "nonsense packet",
            Self::Report => "report",
        }
    }

    /// Its place in the harness.
    pub(super) fn index(self) -> usize {
        self as usize
    }
}

const PACKETS: &str = r#"
static const uint8_t packets[5][8] = {
  {0}, {0x05, 0x6b, 0x01, 0xce, 0xf1, 0x3e, 0x4b, 0x53}, {0x05, 0x6b, 0x01, 0xcf, 0xf1, 0x3e, 0x4b, 0x53},
  {'A', 'r', 'e', 'y', 'o', 'u', 'N', 'O'}, {'A', 'r', 'e', 'y', 'o', 'u', 'O', 'K'}};
"#;

/// A program `bench OPERATION COUNT`: does it so often. With `time` behind, it prints the nanoseconds of CPU
/// time that took; without, it runs the same instructions before and after whatever the count.
pub(super) fn loop_source(interface: Interface) -> String {
    let face = interface.face();
    format!(
        r#"#define _POSIX_C_SOURCE 200809L
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
{face}{PACKETS}
__attribute__((noinline)) static uint8_t empty(const uint8_t *packet) {{ __asm__ volatile("" :: "r"(packet)); return 0; }}
static double now(void) {{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}}
int main(int argc, char **argv) {{
  if (argc < 3) return 2;
  unsigned long operation = strtoul(argv[1], 0, 10), count = strtoul(argv[2], 0, 10);
  const uint8_t *packet = packets[operation % 5];
  double began = argc > 3 ? now() : 0;
  if (operation == 0)
    while (count--) empty(packet);
  else
    while (count--) OPERATE(packet);
  if (argc > 3) printf("%.0f\n", now() - began);
  return 0;
}}
"#
    )
}

/// A program for an AVR: each operation once with a table of zeros, then once with one of 0xff; `outcome` is 1
/// at its end. Whoever simulates it counts.
pub(super) fn cycle_source(interface: Interface) -> String {
    let face = interface.face();
    format!(
        r#"#include <stddef.h>
#include <stdint.h>
#include <avr/interrupt.h>
#include <avr/sleep.h>
{face}{PACKETS}
volatile uint8_t outcome;
int main(void) {{
  for (uint8_t full = 0; full < 2; full++) {{
    for (uint8_t i = 1; i < 5; i++) {{
      for (uint16_t j = 4; j < 260; j++) ((uint8_t *)&table)[j] = full ? 0xff : 0;
      OPERATE(packets[i]);
    }}
  }}
  outcome = 1;
  cli();
  sleep_mode();
}}
"#
    )
}
