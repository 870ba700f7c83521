/* DPDK's functions for a packet are inline: here they have names that Rust can call. One port, one
 * queue each way. */

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <linux/if_packet.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <rte_version.h>

/* Packets of the pool, those of one with long packets, and those that a thread keeps for itself. */
enum { PACKETS = 8191, PACKETS_LONG = 1023, PACKETS_KEPT = 256 };
/* Slots of each queue. */
enum { SLOTS = 1024 };
/* Bytes that the kernel keeps before a frame for net_af_xdp, and the least room that drivers
 * want. */
enum { XDP_HEADROOM = 256, LEAST = 2048 };

/* Each returns 0 or a negative errno, and says which step failed. */
struct step {
    const char *name;
};

int tp_dpdk_start(int argc, char **argv)
{
    /* Its default is stdout, where the results of a process go. */
    (void)rte_openlog_stream(stderr);
    /* libxdp's dispatcher is pinned to a file, and so outlives the process. */
    (void)setenv("LIBXDP_SKIP_DISPATCHER", "1", 0);
    return rte_eal_init(argc, argv) < 0 ? -(rte_errno ? rte_errno : EINVAL) : 0;
}

const char *tp_dpdk_version(void)
{
    return rte_version();
}

/* `longest`: bytes of the longest frame that may come; 0: as long as the MTU allows. */
int tp_dpdk_open(const char *device, uint16_t mtu, uint16_t longest, uint16_t *port,
                 struct rte_mempool **pool, struct step *step)
{
    struct rte_eth_conf conf = {0};
    uint16_t receive = SLOTS, transmit = SLOTS;
    uint16_t room = longest ? longest : RTE_ETHER_HDR_LEN + mtu + XDP_HEADROOM;
    unsigned packets = longest ? PACKETS_LONG : PACKETS;
    int failed;

    step->name = "find the device";
    if ((failed = rte_eth_dev_get_port_by_name(device, port)) != 0)
        return failed;
    step->name = "configure the device";
    if ((failed = rte_eth_dev_configure(*port, 1, 1, &conf)) != 0)
        return failed;
    if ((failed = rte_eth_dev_adjust_nb_rx_tx_desc(*port, &receive, &transmit)) != 0)
        return failed;
    /* A driver of a virtual device may not let it be set; then it is what the kernel has. */
    (void)rte_eth_dev_set_mtu(*port, mtu);
    step->name = "make a pool of packets";
    *pool = rte_pktmbuf_pool_create("tickpath", packets, PACKETS_KEPT, 0,
                                    RTE_PKTMBUF_HEADROOM + (room < LEAST ? LEAST : room),
                                    SOCKET_ID_ANY);
    if (*pool == NULL)
        return -(rte_errno ? rte_errno : ENOMEM);
    step->name = "make the queues";
    if ((failed = rte_eth_rx_queue_setup(*port, 0, receive, SOCKET_ID_ANY, NULL, *pool)) != 0)
        return failed;
    if ((failed = rte_eth_tx_queue_setup(*port, 0, transmit, SOCKET_ID_ANY, NULL)) != 0)
        return failed;
    step->name = "start the device";
    return rte_eth_dev_start(*port);
}

/* The socket of that family that a driver has made, or -1 if none has: DPDK does not say it. */
int tp_dpdk_socket(int wanted)
{
    DIR *all = opendir("/proc/self/fd");
    struct dirent *one;
    int found = -1;

    while (all != NULL && found < 0 && (one = readdir(all)) != NULL) {
        int descriptor = atoi(one->d_name), family = 0;
        socklen_t length = sizeof(family);

        if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &family, &length) == 0 &&
            family == wanted)
            found = descriptor;
    }
    if (all != NULL)
        (void)closedir(all);
    return found;
}

/* Frames that the kernel dropped since the last call because a packet socket's ring was full. */
uint32_t tp_dpdk_packet_drops(int socket)
{
    struct tpacket_stats stats;
    socklen_t length = sizeof(stats);
    int failed = getsockopt(socket, SOL_PACKET, PACKET_STATISTICS, &stats, &length);

    return failed ? 0 : stats.tp_drops;
}

void tp_dpdk_close(uint16_t port)
{
    (void)rte_eth_dev_stop(port);
    (void)rte_eth_dev_close(port);
}

/* Gives the calling thread packets of its own; without it each packet costs two locks more. */
int tp_dpdk_register_thread(void)
{
    return rte_thread_register() < 0 ? -rte_errno : 0;
}

uint16_t tp_dpdk_receive(uint16_t port, struct rte_mbuf **into, uint16_t most)
{
    return rte_eth_rx_burst(port, 0, into, most);
}

uint16_t tp_dpdk_send(uint16_t port, struct rte_mbuf **packets, uint16_t count)
{
    return rte_eth_tx_burst(port, 0, packets, count);
}

/* The bytes of a packet; one in several parts, which no frame of ours is, has none. */
const uint8_t *tp_dpdk_bytes(const struct rte_mbuf *packet, uint16_t *length)
{
    *length = packet->nb_segs == 1 ? rte_pktmbuf_data_len(packet) : 0;
    return rte_pktmbuf_mtod(packet, const uint8_t *);
}

/* A packet with room for `length` bytes, or NULL if there is none. */
struct rte_mbuf *tp_dpdk_make(struct rte_mempool *pool, uint16_t length, uint8_t **bytes)
{
    struct rte_mbuf *packet = rte_pktmbuf_alloc(pool);

    if (packet == NULL)
        return NULL;
    *bytes = (uint8_t *)rte_pktmbuf_append(packet, length);
    if (*bytes == NULL) {
        rte_pktmbuf_free(packet);
        return NULL;
    }
    return packet;
}

void tp_dpdk_free(struct rte_mbuf *packet)
{
    rte_pktmbuf_free(packet);
}

/* Frames that the device dropped for want of room or of packets. */
uint64_t tp_dpdk_missed(uint16_t port)
{
    struct rte_eth_stats stats;

    return rte_eth_stats_get(port, &stats) == 0 ? stats.imissed + stats.rx_nombuf : 0;
}
