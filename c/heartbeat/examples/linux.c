/* An aggregator on Linux: UDP on loopback. linux [PORT], 9060 if not given; 0 lets the system choose, and it is said.
 *
 * Exact lengths, no answer to port 0 or to itself. Bound to loopback it answers this machine only: before it listens
 * anywhere else it needs a list of monitors and a limit, because a report is 32.5 times as long as its request. */
#define _POSIX_C_SOURCE 200809L
#include "../heartbeat.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

int main(int argc, char **argv)
{
    static hb_table table;
    struct sockaddr_in own;
    socklen_t own_length = sizeof own;
    const int udp = socket(AF_INET, SOCK_DGRAM, 0);
    memset(&own, 0, sizeof own);
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    own.sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 9060));
    if (udp < 0 || bind(udp, (struct sockaddr *)&own, sizeof own) != 0 ||
        getsockname(udp, (struct sockaddr *)&own, &own_length) != 0) {
        perror("cannot listen");
        return 1;
    }
    printf("listening udp 127.0.0.1:%u\n", (unsigned)ntohs(own.sin_port));
    fflush(stdout);
    for (;;) {
        uint8_t packet[HB_PACKET + 1]; /* one more: a longer datagram is seen to be longer */
        struct sockaddr_in from;
        socklen_t from_length = sizeof from;
        struct timespec now;
        const ssize_t length =
            recvfrom(udp, packet, sizeof packet, 0, (struct sockaddr *)&from, &from_length);
        if (length < 0) {
            continue; /* an error of an earlier answer */
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (hb_handle(&table, (uint16_t)now.tv_sec, packet, (size_t)length) == HB_REPORT_READY && from.sin_port != 0 &&
            !(from.sin_port == own.sin_port && from.sin_addr.s_addr == own.sin_addr.s_addr)) {
            sendto(udp, table.report, HB_REPORT, 0, (struct sockaddr *)&from, from_length);
        }
    }
}
