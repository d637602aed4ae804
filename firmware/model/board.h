/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The board around the silicon: what outlives a power cycle or a reset, and what
 * the control socket sets. In memory that the slot and the silicon share and the
 * guest does not see.
 */
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>

#include "posix.h"

namespace ai0::npu {

/* How a job that never ends can be got rid of. */
enum class Hang : std::uint32_t {
    kNone = 0,
    kUntilAbort = 1,
    kUntilEngineReset = 2,
    kUntilSilicon = 3, /* goes with the silicon only */
};

/* From the slot to the silicon. */
enum class SlotMessage : std::uint32_t {
    kBoot = 1,        /* argument: reset_seq */
    kEngineReset = 2, /* argument: reset_seq */
    kCrash = 3,
    kWedge = 4,
    kEccCorrected = 5,
    kSensors = 6, /* temperature or ambient was set */
};

struct ChannelMessage {
    std::uint32_t kind;
    std::uint32_t argument;
};

struct Board {
    static constexpr std::int32_t kNoTemperature = std::numeric_limits<std::int32_t>::min();

    /* Faults that wait for their victim. */
    std::atomic<Hang> hang_next{Hang::kNone};
    std::atomic<std::uint32_t> hang_compile{0}; /* the so many-th compilation from now */
    std::atomic<bool> ecc_next{false};
    std::atomic<bool> fault_next{false};
    std::atomic<bool> corrupt_completion{false};
    std::atomic<std::uint32_t> boot_fail{0};

    /* Settings. */
    std::atomic<std::uint32_t> slow{1};
    std::atomic<std::int32_t> ambient_mc{25000};
    std::atomic<std::int32_t> set_temp_mc{kNoTemperature};

    /* Heat, which stays in the board while the power is off. */
    std::atomic<double> temp_c{25};
    std::atomic<std::uint64_t> heat_time_ns{0};
    std::atomic<bool> throttled{false};

    /* Since power on; a reset does not clear them. */
    std::atomic<double> energy_uj{0};
    std::atomic<std::uint32_t> ecc_errors{0};

    /* Set while the control core of this silicon has been started. */
    std::atomic<bool> core_started{false};

    /* What the silicon is doing, for the control socket. */
    std::atomic<std::uint32_t> state{0};
    std::atomic<std::uint32_t> power_mw{0};
    std::atomic<std::uint32_t> clock_mhz{0};
    std::atomic<std::uint32_t> jobs_queued{0};
    std::atomic<std::uint32_t> jobs_running{0};
    std::atomic<std::uint64_t> jobs_done{0};
    std::atomic<std::uint32_t> models{0};
    std::atomic<std::uint32_t> compiling{0};
    std::atomic<std::uint32_t> maps{0};
    std::atomic<std::uint32_t> map_segments{0};
    std::atomic<std::uint32_t> cache_entries{0};
    std::atomic<std::uint64_t> cache_bytes{0};

    /* What ends with the silicon. */
    void silicon_gone()
    {
        core_started = false;
        power_mw = 0;
        clock_mhz = 0;
        jobs_queued = 0;
        jobs_running = 0;
        models = 0;
        compiling = 0;
        maps = 0;
        map_segments = 0;
    }
};

static_assert(std::atomic<double>::is_always_lock_free);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/* Takes a fault that waits; true for one caller only. */
inline bool take(std::atomic<bool>& flag)
{
    return flag.load(std::memory_order_relaxed) && flag.exchange(false);
}

/* Counts down to a fault that waits; true for the caller that reaches it. */
inline bool count_down(std::atomic<std::uint32_t>& left)
{
    std::uint32_t now = left.load(std::memory_order_relaxed);

    while (now > 0 && !left.compare_exchange_weak(now, now - 1)) {
    }
    return now == 1;
}

/* The shared memory that a Board lives in; survives fork(). */
class SharedBoard {
public:
    SharedBoard()
        : mapping_(sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
    {
        if (mapping_)
            board_ = std::construct_at(reinterpret_cast<Board*>(mapping_.data()));
    }

    explicit operator bool() const { return board_ != nullptr; }
    Board& operator*() const { return *board_; }
    Board* operator->() const { return board_; }

private:
    Mapping mapping_;
    Board* board_ = nullptr; /* inside the mapping */
};

} // namespace ai0::npu
