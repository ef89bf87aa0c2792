/* An aggregator on an ATmega328P at 16 MHz: SLIP frames over the UART at 38,400 baud, seconds from timer 1. */
#include "../heartbeat.h"
#include "../slip.h"
#include <avr/interrupt.h>
#include <avr/io.h>
#include <util/atomic.h>

static hb_table table;
static volatile uint16_t seconds;

ISR(TIMER1_COMPA_vect)
{
    seconds++;
}

static void put(uint8_t byte)
{
    loop_until_bit_is_set(UCSR0A, UDRE0);
    UDR0 = byte;
}

static void send(const uint8_t *packet, uint16_t length)
{
    put(SLIP_END);
    while (length--) {
        uint8_t escaped[2];
        const uint8_t count = slip_escape(*packet++, escaped);
        put(escaped[0]);
        if (count == 2) {
            put(escaped[1]);
        }
    }
    put(SLIP_END);
}

int main(void)
{
    static slip_receiver receiver;
    UBRR0 = 25;
    UCSR0B = _BV(RXEN0) | _BV(TXEN0);
    UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
    OCR1A = 62499; /* 16 MHz / 256 / 62,500 = 1 Hz */
    TCCR1B = _BV(WGM12) | _BV(CS12);
    TIMSK1 = _BV(OCIE1A);
    sei();
    for (;;) {
        uint8_t length;
        uint16_t now;
        loop_until_bit_is_set(UCSR0A, RXC0);
        length = slip_take(&receiver, UDR0);
        ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
        {
            now = seconds;
        }
        /* Bytes that arrive while a report leaves are lost, and with them a heartbeat: the next one makes up for it. */
        if (hb_handle(&table, now, receiver.frame, length) == HB_REPORT_READY) {
            send(table.report, HB_REPORT);
        }
    }
}
