/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Heat, power and clocks: one heat capacity behind one thermal resistance, power
 * from how busy the engines were, and a clock that is lowered when it gets hot.
 */
#pragma once

#include <atomic>
#include <cstdint>

#include "bar2.h"
#include "board.h"
#include "config.h"

namespace ai0::npu {

class Thermal {
public:
    Thermal(const Profile& profile, const Bar2& bar, Board& board);

    /*
     * Accounts for the time since the last call, of which the engines together
     * were busy for @busy_ns, and shows the registers. True if throttling began
     * or ended.
     */
    bool update(std::uint64_t busy_ns);

    /* Time a run takes, relative to full clock; 1 or more. */
    double stretch() const;

    /* What an engine adds to the power while it runs. */
    double engine_watts() const;

    bool throttled() const { return board_.throttled; }

private:
    const Profile& profile_;
    const Bar2& bar_;
    Board& board_;
};

/* Lets the board cool down for the time it was off. */
void cool_down(const Profile& profile, Board& board);

} // namespace ai0::npu
