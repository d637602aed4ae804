/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control socket: a command a line, an answer a line, any number of
 * connections.
 */
#pragma once

#include <list>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>

#include "posix.h"

namespace ai0::npu {

class ControlCommands {
public:
    virtual ~ControlCommands() = default;

    /* Answer to a command, without line break; begins with ok or error. */
    virtual std::string command(std::string_view line) = 0;
};

class ControlSocket {
public:
    explicit ControlSocket(const std::string& path);
    ~ControlSocket();
    ControlSocket(const ControlSocket&) = delete;
    ControlSocket& operator=(const ControlSocket&) = delete;

    explicit operator bool() const { return static_cast<bool>(listener_); }

    void add_to(std::vector<pollfd>& fds) const;

    /* Looks at all connections; never blocks. */
    void serve(ControlCommands& commands);

    /* In the silicon: the sockets belong to the slot. */
    void drop();

private:
    struct Connection {
        UniqueFd fd;
        std::string input;
    };

    static bool serve(Connection& connection, ControlCommands& commands);

    std::string path_;
    UniqueFd listener_;
    std::list<Connection> connections_;
};

} // namespace ai0::npu
