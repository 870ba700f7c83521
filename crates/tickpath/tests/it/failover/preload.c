/* Preloaded into an exchange or a member of a cluster: its wall clock is off by the seconds in the
   file that TICKPATH_TEST_PRELOAD names, and its fdatasync waits while the second word of that file
   is not 0. No other process sees that. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct words {
    int64_t seconds_off;
    int64_t holds_syncs;
};

static const volatile struct words *words;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("TICKPATH_TEST_PRELOAD");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *page = mmap(0, sizeof *words, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (page != MAP_FAILED)
        words = page;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    long failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && words && clock == CLOCK_REALTIME)
        now->tv_sec += words->seconds_off;
    return (int)failed;
}

int fdatasync(int file) {
    while (words && words->holds_syncs)
        usleep(1000);
    return (int)syscall(SYS_fdatasync, file);
}
