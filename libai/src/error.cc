/* SPDX-License-Identifier: Apache-2.0 */
#include <ai/error.h>

#include <cstring>

namespace ai {

const char* error_name(int code)
{
    const char* name = strerrorname_np(code);

    return name ? name : "unknown error";
}

std::string to_string(const Error& error)
{
    return error.message + " (" + error_name(error.code) + ")";
}

Exception::Exception(Error error) : std::runtime_error(error.message), error_(std::move(error)) {}

Exception::~Exception() = default;

} // namespace ai
