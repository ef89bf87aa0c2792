/* An echo service on UDP, each tenth of whose answers takes the long way: which mode of its delay is that?
 *
 *     cc -O2 -pthread -o service service.c
 *     dropline inject udp://127.0.0.1:7009 --start './service 7009' --probe long_way --delay 200us
 */
#define DROPLINE_TRACE_IMPLEMENTATION
#include "dropline_trace.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static void work(long ns)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < ns);
}

int main(int count, char **words)
{
    int listening = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    own.sin_port = htons((uint16_t)atoi(count > 1 ? words[1] : "7009"));
    if (bind(listening, (struct sockaddr *)&own, sizeof own) != 0)
        return 1;
    for (unsigned long request = 0;; request++) {
        char packet[2048];
        struct sockaddr_in from;
        socklen_t room = sizeof from;
        ssize_t length = recvfrom(listening, packet, sizeof packet, 0, (struct sockaddr *)&from, &room);
        if (length < 0)
            return 1;
        DROPLINE_PROBE("parse");
        if (request % 10 == 9) {
            DROPLINE_PROBE("long_way");
            work(100000);
        }
        sendto(listening, packet, (size_t)length, 0, (struct sockaddr *)&from, room);
    }
}
