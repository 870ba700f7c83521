// While it measures, the client allocates nothing. This program counts every call of malloc and its
// relatives; operator new calls them.

#include "exchange.hpp"
#include "feed_run.hpp"
#include "plans.hpp"
#include "run.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

std::atomic<bool> is_counting = false;
std::atomic<std::uint64_t> allocations = 0;
thread_local bool is_excluded = false;

void count() {
    if (is_counting.load(std::memory_order_relaxed) && !is_excluded) {
        allocations.fetch_add(1, std::memory_order_relaxed);
    }
}

/// Counts from the 100th order to the 500th.
void watch(std::uint64_t orders) {
    if (orders == 100) {
        is_counting = true;
    } else if (orders == 500) {
        is_counting = false;
    }
}

} // namespace

extern "C" {
void* malloc(std::size_t size) {
    count();
    return __libc_malloc(size);
}
void* calloc(std::size_t n, std::size_t size) {
    count();
    return __libc_calloc(n, size);
}
void* realloc(void* old, std::size_t size) {
    count();
    return __libc_realloc(old, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
    count();
    return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
    *out = memalign(alignment, size);
    return *out == nullptr ? ENOMEM : 0;
}
}

namespace tickpath::tests {

void exclude_this_thread() { is_excluded = true; }

namespace {

class Allocations : public testing::TestWithParam<Backend> {};

} // namespace

TEST(Count, SeesAnAllocation) {
    allocations = 0;
    is_counting = true;
    std::string* text = new std::string(100, 'x');
    is_counting = false;
    EXPECT_EQ(allocations, 2U) << *text;
    delete text;
}

TEST_P(Allocations, ThereAreNoneDuringARun) {
    const std::pair<Model, Wire> runs[] = {
        {Model::ping_pong, Wire::websocket_json},
        {Model::open, Wire::websocket_json},
        {Model::ping_pong, Wire::sbe},
        {Model::open, Wire::sbe},
    };
    for (const auto& [model, wire] : runs) {
        const Log log;
        Script script;
        script.watch = watch;
        const Exchange exchange(script);
        Plan one = plan(model, log);
        one.target = exchange.address();
        one.wire = wire;
        one.backend = GetParam().name;
        one.load.rate_per_second = 5000;
        one.load.accounts = one.load.connections = 3;
        one.warm_up_seconds = 0;
        one.seconds = 1;
        allocations = 0;
        Stop stop = false;
        const Result result = run(one, GetParam().uses_uring, stop);
        ASSERT_TRUE(result.is_complete);
        EXPECT_GT(exchange.orders(), 500U);
        EXPECT_EQ(allocations, 0U);
    }
}

TEST(FeedAllocations, ThereAreNoneWhileTheClientAnswersTicks) {
    for (const bool spins : {false, true}) {
        Script script;
        script.watch = watch;
        const Exchange exchange(script);
        FeedOptions options;
        options.target = exchange.address();
        options.warm_up_seconds = 0;
        options.seconds = 2;
        options.order_every = 1;
        options.spins = spins;
        allocations = 0;
        Stop stop = false;
        const FeedResult result = follow_feed(options, stop);
        ASSERT_TRUE(result.is_complete) << result.json();
        EXPECT_GT(result.orders, 500U);
        EXPECT_EQ(allocations, 0U);
    }
}

INSTANTIATE_TEST_SUITE_P(, Allocations, testing::ValuesIn(backends),
                         [](const auto& one) { return one.param.label; });

} // namespace tickpath::tests
