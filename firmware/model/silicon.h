/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The silicon: everything that power is given to and taken from. A process of its
 * own, so that taking the power away ends every access to the guest's memory, in
 * whatever state the engines are.
 */
#pragma once

#include <memory>

#include "bar2.h"
#include "board.h"
#include "config.h"
#include "ivshmem_server.h"

namespace ai0::npu {

/*
 * Runs until the process is ended. @channel is a connected socket to the slot,
 * over which a ChannelMessage arrives whole; one byte goes back when the boot ROM
 * waits.
 */
[[noreturn]] void run_silicon(const Config& config, const Bar2& bar, Board& board,
                              const IvshmemServer& wires, int channel);

} // namespace ai0::npu
