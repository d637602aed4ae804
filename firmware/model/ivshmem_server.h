/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The server side of QEMU's ivshmem protocol, for exactly two peers: the device
 * is peer 0 and has no socket, QEMU is peer 1.
 */
#pragma once

#include <array>
#include <string>

#include "npu_mmio.h"
#include "posix.h"

namespace ai0::npu {

class IvshmemServer {
public:
    /* Makes the eventfds and listens. Check with operator bool. */
    explicit IvshmemServer(const std::string& path);
    ~IvshmemServer();
    IvshmemServer(const IvshmemServer&) = delete;
    IvshmemServer& operator=(const IvshmemServer&) = delete;

    explicit operator bool() const { return listener_ && events_made(); }

    int listener() const { return listener_.get(); }
    int client() const { return client_.get(); }
    int doorbell(unsigned vector) const { return doorbells_[vector].get(); }
    int interrupt(unsigned vector) const { return interrupts_[vector].get(); }

    /* Takes QEMU's connection and tells it everything. False if there is no such connection. */
    bool accept(int shared_memory);

    /* False when QEMU has closed the connection. */
    bool client_alive();

    /* In the silicon: descriptors that belong to the slot alone. */
    void drop_sockets();

private:
    bool events_made() const;

    std::string path_;
    UniqueFd listener_;
    UniqueFd client_;
    std::array<UniqueFd, NPU_VECTORS> doorbells_;
    std::array<UniqueFd, NPU_VECTORS> interrupts_;
};

/* A listening unix socket; whatever was at the path before goes. */
UniqueFd listen_unix(const std::string& path);

} // namespace ai0::npu
