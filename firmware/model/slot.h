/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The slot: what is there as long as QEMU is. It holds the wires to QEMU, the
 * power switch and the reset line of the silicon, and the control socket. One
 * thread, so that it can fork silicon at any time.
 *
 * A reset to ROM takes the silicon away and powers a new one: that is the only
 * way to promise that nothing of the old one reaches memory any more.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "bar2.h"
#include "board.h"
#include "config.h"
#include "control_socket.h"
#include "ivshmem_server.h"

namespace ai0::npu {

class Slot : public ControlCommands {
public:
    explicit Slot(const Config& config);
    ~Slot() override;

    /* Serves until QEMU leaves or a signal comes. Returns the exit status. */
    int run();

    std::string command(std::string_view line) override;

private:
    bool set_up();
    bool fork_silicon();
    void kill_silicon();
    void silicon_ready();
    void silicon_died();
    void power_cycle();
    void reset_doorbell();
    void reset_to_rom();
    bool send(SlotMessage kind, std::uint32_t argument = 0);
    void take_signals(bool& end);
    void set_state(npu_state state);
    std::string state_line() const;
    std::string arm(Hang hang);
    std::string to_silicon(SlotMessage kind);

    const Config config_;
    Bar2 bar_;
    SharedBoard board_;
    IvshmemServer server_;
    ControlSocket control_;
    UniqueFd signals_;

    pid_t silicon_ = 0;
    UniqueFd channel_;
    bool ready_ = false; /* the silicon has said so */
    bool announced_ = false;
    bool failed_ = false;
    bool broken_ = false; /* does not power on until repaired */
    std::uint32_t power_on_count_ = 0;

    /* To be done when the silicon is ready. */
    bool count_power_on_ = false;
    std::optional<std::uint32_t> acknowledge_;
    std::optional<std::uint32_t> boot_;
};

} // namespace ai0::npu
