/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What went wrong: an error number and one plain sentence.
 *
 * Nothing in libai throws, except where a caller asks for it: Result::value() and
 * Result::or_throw() turn an error into an ai::Exception.
 */
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <ai/export.h>

namespace ai {

/*
 * @code is a number of <errno.h>; uapi/ai.h says what each means. @message is the
 * kernel's own sentence where the kernel refused the call, else the library's: the
 * value found, the value needed, what to do.
 */
struct Error {
    int code = 0;
    std::string message;
};

/* Symbol of an error number, for example "ENOSPC". Any thread. */
LIBAI_API const char* error_name(int code);

/* The sentence followed by the symbol in brackets, for people. */
LIBAI_API std::string to_string(const Error& error);

class LIBAI_API Exception : public std::runtime_error {
public:
    explicit Exception(Error error);
    ~Exception() override;

    const Error& error() const noexcept { return error_; }
    int code() const noexcept { return error_.code; }

private:
    Error error_;
};

} // namespace ai
