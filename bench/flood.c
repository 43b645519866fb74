/*
 * Sends forged datagrams as fast as this machine can: flood ADDRESS PORT FROM TO SECONDS
 *
 * The fields that an outsider can know (magic, type, members' numbers, length) are correct. Those
 * that only members can know (tag, counter, content) are random. Prints the number of datagrams per
 * second.
 */
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH  64 /* datagrams per system call */
#define LENGTH 160

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static unsigned long long random_bits(void)
{
    static unsigned long long state = 88172645463325252u; /* xorshift64 seed */
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void forge(unsigned char *packet, unsigned from, unsigned to)
{
    for (unsigned i = 0; i < LENGTH; i += 8) {
        unsigned long long bits = random_bits();
        memcpy(packet + i, &bits, 8);
    }
    memcpy(packet, "ELE1", 4);
    packet[4] = (unsigned char)(1 + random_bits() % 4);
    packet[5] = 1;
    packet[6] = (unsigned char)from;
    packet[7] = (unsigned char)(from >> 8);
    packet[8] = (unsigned char)to;
    packet[9] = (unsigned char)(to >> 8);
    packet[10] = LENGTH;
    packet[11] = 0;
}

int main(int argc, char **argv)
{
    static unsigned char packet[BATCH][LENGTH];
    struct sockaddr_in at = {.sin_family = AF_INET};
    if (argc != 6 || inet_pton(AF_INET, argv[1], &at.sin_addr) != 1) {
        fprintf(stderr, "usage: flood ADDRESS PORT FROM TO SECONDS\n");
        return 64;
    }
    at.sin_port = htons((unsigned short)strtoul(argv[2], NULL, 10));
    unsigned from = (unsigned)strtoul(argv[3], NULL, 10), to = (unsigned)strtoul(argv[4], NULL, 10);
    double began = now(), end = began + strtod(argv[5], NULL);
    unsigned long long sent = 0;
    int fd = socket(AF_INET, SOCK_DGRAM, 0), length = LENGTH;
    if (connect(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
        setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &length, sizeof length) != 0) {
        perror("flood");
        return 1;
    }
    while (now() < end) {
        for (unsigned i = 0; i < BATCH; i++)
            forge(packet[i], from, to);
        sent += send(fd, packet, sizeof packet, 0) == sizeof packet ? BATCH : 0;
    }
    printf("%.0f\n", (double)sent / (now() - began));
    close(fd);
    return 0;
}
