/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ai::Result<T>: a T, or the ai::Error that says why there is none.
 *
 * The interface is that of std::expected<T, ai::Error>, which C++20 does not have, but
 * a result that is about to go gives its value, not a reference to it: in
 * for (float& x : tensor.span<float>().value()) nothing dangles.
 *
 *     ai::Result<ai::Session> session = ai::Session::open();
 *     if (!session)
 *         return fail(session.error().message);
 *     use(*session);
 *
 * value() and or_throw() throw ai::Exception when there is an error; in a program
 * built without exceptions they print the error and abort. *result and
 * result->member need a result that holds a value.
 */
#pragma once

#include <cassert>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <ai/error.h>

namespace ai {

template <typename T> class Result;

namespace detail {

[[noreturn]] inline void raise(const Error& error)
{
#if defined(__cpp_exceptions)
    throw Exception(error);
#else
    std::fprintf(stderr, "%s\n", error.message.c_str());
    std::abort();
#endif
}

template <typename T> inline constexpr bool is_result = false;
template <typename T> inline constexpr bool is_result<Result<T>> = true;

} // namespace detail

template <typename T> class [[nodiscard]] Result {
public:
    using value_type = T;
    using error_type = Error;

    Result(const T& value) : state_(std::in_place_index<0>, value) {}
    Result(T&& value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    bool has_value() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }

    T& operator*() & noexcept { return *get(); }
    const T& operator*() const& noexcept { return *get(); }
    T operator*() && { return std::move(*get()); }
    T* operator->() noexcept { return get(); }
    const T* operator->() const noexcept { return get(); }

    T& value() &
    {
        check();
        return *get();
    }
    const T& value() const&
    {
        check();
        return *get();
    }
    T value() &&
    {
        check();
        return std::move(*get());
    }

    /* The same under another name, for programs that prefer exceptions. */
    T or_throw() &&
    {
        check();
        return std::move(*get());
    }

    const Error& error() const& noexcept
    {
        assert(!has_value());
        return *std::get_if<1>(&state_);
    }
    Error&& error() && noexcept
    {
        assert(!has_value());
        return std::move(*std::get_if<1>(&state_));
    }

    template <typename U> T value_or(U&& other) const&
    {
        return has_value() ? *get() : static_cast<T>(std::forward<U>(other));
    }
    template <typename U> T value_or(U&& other) &&
    {
        return has_value() ? std::move(*get()) : static_cast<T>(std::forward<U>(other));
    }

    /* Whether this is a value, and that one. */
    template <typename U>
    requires(!detail::is_result<U> && std::equality_comparable_with<T, U>) friend bool
    operator==(const Result& result, const U& value)
    {
        return result.has_value() && *result == value;
    }

    /* f(value) -> Result<U>, or the error as it is. */
    template <typename F> auto and_then(F&& f) &&
    {
        using R = std::remove_cvref_t<std::invoke_result_t<F, T&&>>;
        static_assert(detail::is_result<R>, "and_then() takes a function that gives a Result");
        return has_value() ? std::invoke(std::forward<F>(f), std::move(*get()))
                           : R(std::move(*this).error());
    }
    template <typename F> auto and_then(F&& f) const&
    {
        using R = std::remove_cvref_t<std::invoke_result_t<F, const T&>>;
        static_assert(detail::is_result<R>, "and_then() takes a function that gives a Result");
        return has_value() ? std::invoke(std::forward<F>(f), *get()) : R(error());
    }

    /* f(value) -> U, or the error as it is. */
    template <typename F> auto transform(F&& f) &&
    {
        using U = std::remove_cv_t<std::invoke_result_t<F, T&&>>;
        if (!has_value())
            return Result<U>(std::move(*this).error());
        if constexpr (std::is_void_v<U>) {
            std::invoke(std::forward<F>(f), std::move(*get()));
            return Result<U>();
        } else {
            return Result<U>(std::invoke(std::forward<F>(f), std::move(*get())));
        }
    }

    /* f(error) -> Result<T>, or the value as it is. */
    template <typename F> Result or_else(F&& f) &&
    {
        return has_value() ? std::move(*this)
                           : std::invoke(std::forward<F>(f), std::move(*this).error());
    }

    /* f(error) -> Error, for adding what the caller knows. */
    template <typename F> Result transform_error(F&& f) &&
    {
        return has_value() ? std::move(*this)
                           : Result(std::invoke(std::forward<F>(f), std::move(*this).error()));
    }

private:
    T* get() noexcept
    {
        assert(has_value());
        return std::get_if<0>(&state_);
    }
    const T* get() const noexcept
    {
        assert(has_value());
        return std::get_if<0>(&state_);
    }
    void check() const
    {
        if (!has_value())
            detail::raise(error());
    }

    std::variant<T, Error> state_;
};

template <> class [[nodiscard]] Result<void> {
public:
    using value_type = void;
    using error_type = Error;

    Result() = default;
    Result(Error error) : error_(std::move(error)) {}

    bool has_value() const noexcept { return !error_; }
    explicit operator bool() const noexcept { return has_value(); }

    void operator*() const noexcept { assert(has_value()); }
    void value() const
    {
        if (error_)
            detail::raise(*error_);
    }
    void or_throw() const { value(); }

    const Error& error() const& noexcept
    {
        assert(error_);
        return *error_;
    }
    Error&& error() && noexcept
    {
        assert(error_);
        return std::move(*error_);
    }

    /* f() -> Result<U>, or the error as it is. */
    template <typename F> auto and_then(F&& f) const
    {
        using R = std::remove_cvref_t<std::invoke_result_t<F>>;
        static_assert(detail::is_result<R>, "and_then() takes a function that gives a Result");
        return has_value() ? std::invoke(std::forward<F>(f)) : R(*error_);
    }

    /* f(error) -> Result<void>, or success as it is. */
    template <typename F> Result or_else(F&& f) const
    {
        return has_value() ? *this : std::invoke(std::forward<F>(f), *error_);
    }

    /* f(error) -> Error, for adding what the caller knows. */
    template <typename F> Result transform_error(F&& f) const
    {
        return has_value() ? *this : Result(std::invoke(std::forward<F>(f), *error_));
    }

private:
    std::optional<Error> error_;
};

} // namespace ai
