/* SPDX-License-Identifier: Apache-2.0 */
/* aictl: looks at devices, contracts, memory and models of /dev/ai0. */
#include <cerrno>
#include <csignal>
#include <iostream>

#include <ai/ai.h>

#include "commands.h"
#include "options.h"

namespace {

using namespace aictl;

int fail(const std::string& message, int status)
{
    std::cout.flush();
    std::cerr << "aictl: " << message << '\n';
    return status;
}

int status_of(const ai::Result<void>& done)
{
    if (done)
        return kOk;
    return fail(done.error().message, done.error().code == EINVAL ? kUsage : kFailed);
}

int run(const Options& options)
{
    if (options.version) {
        std::cout << "aictl " << AI_VERSION_STRING << '\n';
        return kOk;
    }
    if (options.help) {
        std::cout << usage(options.command);
        return kOk;
    }
    if (is_dump_file(options))
        return status_of(show_dump_file(options, std::cout));
    ai::Result<ai::Session> session = ai::Session::open();
    if (!session)
        return fail(session.error().message, kNoDevice);
    return status_of(find_command(options.command)->run({*session, options, std::cout}));
}

} // namespace

int main(int argc, char** argv)
{
    /* Whoever reads may have enough: then writing fails, and that is the end. */
    std::signal(SIGPIPE, SIG_IGN);
    ai::Result<Options> options = parse_options({argv, static_cast<std::size_t>(argc)});
    if (!options)
        return fail(options.error().message, kUsage);
    int status = run(*options);
    std::cout.flush();
    return status == kOk && !std::cout ? kFailed : status;
}
