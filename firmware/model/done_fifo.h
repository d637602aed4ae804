/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where units tell the firmware that something is done.
 */
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "npu_mmio.h"
#include "posix.h"

namespace ai0::npu {

struct Done {
    npu_unit unit;
    std::uint32_t slot;
    npu_status status;
};

class DoneFifo {
public:
    DoneFifo() : event_(event_make()) {}

    void push(npu_unit unit, std::uint32_t slot, npu_status status)
    {
        {
            std::lock_guard lock(mutex_);
            entries_.push_back({unit, slot, status});
        }
        event_raise(event_.get());
    }

    std::optional<Done> pop()
    {
        std::lock_guard lock(mutex_);
        if (entries_.empty())
            return std::nullopt;
        Done done = entries_.front();
        entries_.pop_front();
        return done;
    }

    bool empty() const
    {
        std::lock_guard lock(mutex_);
        return entries_.empty();
    }

    /* Readable after a push. */
    int event() const { return event_.get(); }

private:
    mutable std::mutex mutex_;
    std::deque<Done> entries_;
    UniqueFd event_;
};

} // namespace ai0::npu
