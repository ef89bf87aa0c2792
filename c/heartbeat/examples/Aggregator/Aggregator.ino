// An aggregator on a board with a serial port: SLIP frames at 38,400 baud.
#include <heartbeat.h>
#include <slip.h>

static hb_table table;
static slip_receiver receiver;

void setup()
{
    Serial.begin(38400);
}

void loop()
{
    if (Serial.available() <= 0) {
        return;
    }
    const uint8_t length = slip_take(&receiver, static_cast<uint8_t>(Serial.read()));
    const uint16_t seconds = static_cast<uint16_t>(millis() / 1000);
    if (hb_handle(&table, seconds, receiver.frame, length) != HB_REPORT_READY) {
        return;
    }
    Serial.write(SLIP_END);
    for (uint16_t i = 0; i < HB_REPORT; i++) {
        uint8_t escaped[2];
        Serial.write(escaped, slip_escape(table.report[i], escaped));
    }
    Serial.write(SLIP_END);
}
