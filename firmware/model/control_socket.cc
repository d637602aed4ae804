// SPDX-License-Identifier: GPL-2.0-only
#include "control_socket.h"

#include <cerrno>

#include <sys/socket.h>

#include "ivshmem_server.h"

namespace ai0::npu {

namespace {

constexpr std::size_t kMaxLine = 1024;
constexpr std::size_t kMaxConnections = 64;

} // namespace

ControlSocket::ControlSocket(const std::string& path) : path_(path), listener_(listen_unix(path)) {}

ControlSocket::~ControlSocket()
{
    if (listener_)
        ::unlink(path_.c_str());
}

void ControlSocket::add_to(std::vector<pollfd>& fds) const
{
    fds.push_back({listener_.get(), POLLIN, 0});
    for (const Connection& connection : connections_)
        fds.push_back({connection.fd.get(), POLLIN, 0});
}

void ControlSocket::serve(ControlCommands& commands)
{
    for (;;) {
        UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!fd)
            break;
        if (connections_.size() < kMaxConnections)
            connections_.push_back({std::move(fd), {}});
    }
    connections_.remove_if([&](Connection& connection) { return !serve(connection, commands); });
}

bool ControlSocket::serve(Connection& connection, ControlCommands& commands)
{
    char buffer[512];

    for (;;) {
        ssize_t n = ::recv(connection.fd.get(), buffer, sizeof(buffer), 0);
        if (n == 0)
            return false;
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        connection.input.append(buffer, static_cast<std::size_t>(n));

        for (std::size_t end; (end = connection.input.find('\n')) != std::string::npos;) {
            std::string answer =
                commands.command(std::string_view(connection.input).substr(0, end)) + "\n";
            connection.input.erase(0, end + 1);
            if (::send(connection.fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL) !=
                static_cast<ssize_t>(answer.size()))
                return false;
        }
        if (connection.input.size() > kMaxLine)
            return false;
    }
}

void ControlSocket::drop()
{
    listener_.reset();
    connections_.clear();
}

} // namespace ai0::npu
