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
    for (unsigned long i = 0; i < count; i++) empty(packet);
  else
    for (unsigned long i = 0; i < count; i++) OPERATE(packet);
  if (argc > 3) printf("%.0f\n", now() - began);
  return 0;
}}
"#
    )
}

/// A program for the ATmega328P that prints the cycles and the stack of each operation on its serial port.
pub(super) fn cycle_source(interface: Interface) -> String {
    let face = interface.face();
    format!(
        r#"#include <stddef.h>
#include <stdint.h>
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
{face}{PACKETS}
extern uint8_t __heap_start;
static void put(char c) {{ while (!(UCSR0A & (1 << UDRE0))) {{}} UDR0 = (uint8_t)c; }}
static void number(uint16_t n) {{
  char digits[5]; uint8_t i = 0;
  do digits[i++] = (char)('0' + n % 10); while (n /= 10);
  while (i) put(digits[--i]);
}}
__attribute__((noinline)) static void paint(void) {{
  for (uint8_t *p = &__heap_start; p < (uint8_t *)SP - 8; p++) *p = 0xc5;
}}
static void line(uint8_t operation, uint16_t cycles, uint16_t stack) {{
  put('#'); number(operation); put(' '); number(cycles); put(' '); number(stack); put('\n');
}}
int main(void) {{
  UCSR0B = 1 << TXEN0;
  TCCR1B = 1 << CS10;
  __asm__ volatile("" ::: "memory");
  TCNT1 = 0;
  uint16_t reading = TCNT1;
  for (uint8_t full = 0; full < 2; full++) {{
    for (uint8_t i = 1; i < 5; i++) {{
      uint8_t packet[8];
      for (uint8_t j = 0; j < 8; j++) packet[j] = packets[i][j];
      if (full) for (uint16_t j = 4; j < 260; j++) ((uint8_t *)&table)[j] = 0xff;
      else for (uint16_t j = 4; j < 260; j++) ((uint8_t *)&table)[j] = 0;
      paint();
      __asm__ volatile("" ::: "memory");
      TCNT1 = 0;
      OPERATE(packet);
      uint16_t cycles = TCNT1;
      __asm__ volatile("" ::: "memory");
      uint8_t *p = &__heap_start;
      while (*p == 0xc5) p++;
      line((uint8_t)(full ? i + 4 : i), cycles - reading, (uint16_t)((uint8_t *)SP + 1 - p));
    }}
  }}
  while (!(UCSR0A & (1 << UDRE0))) {{}}
  cli();
  sleep_enable();
  sleep_cpu();
  for (;;) {{}}
}}
"#
    )
}
