// Writes the log of HdrHistogram_c's writer, which knows StartTime alone: a client writes BaseTime
// itself. The source of the library is in npm's package native-hdr-histogram.
#include <stdio.h>
#include <stdlib.h>
#include "hdr_histogram.h"
#include "hdr_histogram_log.h"
#include "hdr_time.h"

static const long T0 = 1700000000;
static struct hdr_log_writer writer;

static hdr_timespec of_ms(long seconds, long ms) {
    hdr_timespec time = {seconds + ms / 1000, ms % 1000 * 1000000};
    return time;
}

static void header(long start) {
    hdr_timespec time = of_ms(start, 0);
    if (hdr_log_write_header(&writer, stdout, "c.c", &time)) abort();
}

static void base(long seconds) {
    printf("#[BaseTime: %ld.000 (seconds since epoch)]\n", seconds);
}

// The writer's times are the start and the length, as its reader takes them.
static void interval(const char *subject, long seconds, long ms) {
    struct hdr_histogram *histogram;
    if (hdr_init(1, 3600000000000, 3, &histogram)) abort();
    for (int i = 1; i <= 10; i++) hdr_record_value(histogram, 1000 * i);
    char tag[64];
    int length = snprintf(tag, sizeof tag, "%s.order.service", subject);
    struct hdr_log_entry entry = {
        .start_timestamp = of_ms(seconds, ms), .interval = of_ms(1, 250), .tag = tag, .tag_len = length};
    if (hdr_log_write_entry(&writer, stdout, &entry, histogram)) abort();
    hdr_close(histogram);
}

int main(void) {
    hdr_log_writer_init(&writer);
    interval("absolute", T0 + 1, 500);
    header(T0);
    base(T0);
    interval("base", 1, 500);
    interval("bare", T0 + 1, 500);
    header(T0);
    interval("start-absolute", T0 + 1, 500);
    header(T0);
    interval("start-relative", 1, 500);
    header(T0 + 2);
    base(T0 + 2);
    interval("before", 0, -500);
    return 0;
}
