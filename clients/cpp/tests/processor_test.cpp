// Processor time of both ends.

#include "processor.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace tickpath::tests {

/// Threads that ended count, and a process that only waits uses almost nothing.
TEST(Processor, AllThreadsOfAProcessCountAndSleepDoesNot) {
    const pid_t sleeping = fork();
    ASSERT_GE(sleeping, 0);
    if (sleeping == 0) {
        pause();
        _exit(0);
    }
    const ProcessorMeter meter(static_cast<std::uint32_t>(sleeping));
    // Until the meter shows 50 ms, so the machine's other load does no harm.
    std::thread([&] {
        while (*meter.used_ns()[0] < 50'000'000) {
        }
    }).join();
    const auto [client_ns, exchange_ns] = meter.used_ns();
    EXPECT_GE(*client_ns, 50'000'000U);
    ASSERT_TRUE(exchange_ns.has_value());
    EXPECT_LT(*exchange_ns, 5'000'000U);
    kill(sleeping, SIGKILL);
    waitpid(sleeping, nullptr, 0);
    EXPECT_FALSE(meter.used_ns()[1].has_value());
    EXPECT_FALSE(ProcessorMeter(static_cast<std::uint32_t>(sleeping)).used_ns()[1].has_value());
}

TEST(Processor, WithoutAnExchangeThereIsNoFigureOfIt) {
    EXPECT_TRUE(ProcessorMeter().used_ns()[0].has_value());
    EXPECT_FALSE(ProcessorMeter().used_ns()[1].has_value());
}

} // namespace tickpath::tests
