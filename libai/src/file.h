/* SPDX-License-Identifier: Apache-2.0 */
/* The open node that a session, its buffers and its models share. */
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <ai/result.h>
#include <ai/session.h>
#include <ai/syscalls.h>
#include <ai/uapi/ai.h>

namespace ai::detail {

class File {
public:
    File(std::shared_ptr<Syscalls> syscalls, int fd, std::string path);
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File();

    static Result<Session> open(const std::string& path, std::shared_ptr<Syscalls> syscalls);
    static const std::shared_ptr<File>& of(const Session& session) { return session.file_; }
    static Session session(std::shared_ptr<File> file) { return Session(std::move(file)); }

    /*
     * One call. The head of @argument is filled in except for its flags. An error
     * has the kernel's sentence or, if there is none, one made from @name.
     */
    template <typename T>
    Result<void> call(unsigned long request, const char* name, T& argument) const
    {
        return call_on(fd_, request, name, argument);
    }

    /* The same on another descriptor, that of a contract. */
    template <typename T>
    Result<void> call_on(int fd, unsigned long request, const char* name, T& argument) const
    {
        argument.hdr.size = sizeof(T);
        return call(fd, request, name, &argument.hdr);
    }

    Syscalls& syscalls() const { return *syscalls_; }

    int fd() const { return fd_; }
    const std::string& path() const { return path_; }
    const SystemInfo& info() const { return info_; }

private:
    Result<void> call(int fd, unsigned long request, const char* name, ai_hdr* head) const;
    Result<void> learn();

    std::shared_ptr<Syscalls> syscalls_;
    int fd_;
    std::string path_;
    SystemInfo info_;
};

} // namespace ai::detail
