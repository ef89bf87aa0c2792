/* As much of Arduino as the sketch uses, so that it can be checked without one. */
#include <stddef.h>
#include <stdint.h>

struct SerialPort {
    void begin(unsigned long);
    int available();
    int read();
    size_t write(int);
    size_t write(const uint8_t *, size_t);
};
extern SerialPort Serial;
unsigned long millis();
