/* A heartbeat server with the habits of the original: a datagram a call, eight bytes of whatever arrived, a question
 * for the time at every heartbeat, the system's own receive buffer, reports to whoever asks, and a checksum that is
 * reduced at most once in 16 bytes. Written from its description; here it is the rival, on loopback. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PACKET = 8, VARIABLES = 64, REPORT = 4 + 4 * VARIABLES, MODULUS = 65521 };

struct table {
    uint8_t report[REPORT];
};

struct monitor {
    int socket;
    struct sockaddr_in address;
    socklen_t length;
};

static uint16_t seconds(void)
{
    return (uint16_t)time(NULL);
}

static void send_report(struct monitor *monitor, const uint8_t *report)
{
    if (sendto(monitor->socket, report, REPORT, 0, (struct sockaddr *)&monitor->address, monitor->length) < 0) {
        perror("sendto");
    }
}

static uint32_t checksum(const uint8_t *bytes, unsigned count)
{
    uint32_t a = 1, b = 0;
    while (count--) {
        a += *bytes++;
        b += a;
        if (count % 16 == 0) {
            a -= a >= MODULUS ? MODULUS : 0;
            b -= b >= MODULUS ? MODULUS : 0;
        }
    }
    return b << 16 | a;
}

static void put(uint8_t *to, uint32_t word)
{
    to[0] = (uint8_t)(word >> 24);
    to[1] = (uint8_t)(word >> 16);
    to[2] = (uint8_t)(word >> 8);
    to[3] = (uint8_t)word;
}

static void handle(struct table *table, const uint8_t *packet, struct monitor *monitor)
{
    uint8_t expected[4];
    if (memcmp(packet, "AreyouOK", PACKET) == 0) {
        put(table->report, checksum(table->report + 4, REPORT - 4));
        send_report(monitor, table->report);
        return;
    }
    put(expected, checksum(packet + 4, 4));
    if (packet[4] == 0xf1 && memcmp(packet, expected, sizeof expected) == 0 && packet[5] < VARIABLES) {
        uint8_t *entry = table->report + 4 + 4 * packet[5];
        const uint16_t now = seconds();
        entry[0] = (uint8_t)(now >> 8);
        entry[1] = (uint8_t)now;
        entry[2] = packet[6];
        entry[3] = packet[7];
    }
}

int main(void)
{
    static struct table table;
    struct monitor monitor = {.socket = socket(AF_INET, SOCK_DGRAM, 0)};
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof here;
    if (monitor.socket < 0 || bind(monitor.socket, (struct sockaddr *)&here, length) != 0 ||
        getsockname(monitor.socket, (struct sockaddr *)&here, &length) != 0) {
        perror("bind");
        return 1;
    }
    printf("listening udp 127.0.0.1:%u\n", ntohs(here.sin_port));
    fflush(stdout);
    for (;;) {
        uint8_t packet[PACKET];
        monitor.length = sizeof monitor.address;
        if (recvfrom(monitor.socket, packet, PACKET, 0, (struct sockaddr *)&monitor.address, &monitor.length) > 0) {
            handle(&table, packet, &monitor);
        }
    }
}
