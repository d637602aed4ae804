/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contract-holder TERMS: holds a contract on a software device. Says "ready"; then for
 * each number N on standard input makes N requests and says how many worked; ends
 * with the input.
 */
#include <cstdio>
#include <iostream>

#include <ai/ai.h>

namespace {

constexpr std::string_view kModel = "ai-sim-model 1\nop copy\nin x 1 1 16\nout y 1 1 16\n";

int hold(const char* text)
{
    const ai::Terms terms = ai::parse_terms(text).or_throw();
    const auto session = ai::Session::open().or_throw();
    const auto model = ai::Model::load(session, std::as_bytes(std::span(kModel)),
                                       {.name = "held", .device = terms.device})
                           .or_throw();
    const ai::Contract contract = ai::Contract::create(session, terms).or_throw();
    const auto input =
        ai::Tensor::allocate(session, ai::DType::kFloat32, ai::Shape(1, 16)).or_throw();

    std::cout << "ready" << std::endl;
    for (unsigned count = 0; std::cin >> count;) {
        unsigned worked = 0;
        for (unsigned i = 0; i < count; i++)
            worked += ai::infer(model, {&input, 1}, {.contract = &contract}).has_value() ? 1 : 0;
        std::cout << worked << std::endl;
    }
    return 0;
}

} // namespace

int main(int argc, char** argv)
try {
    if (argc == 2)
        return hold(argv[1]);
    std::fputs("usage: contract-holder TERMS\n", stderr);
    return 2;
} catch (const std::exception& error) {
    std::fprintf(stderr, "contract-holder: %s\n", error.what());
    return 1;
}
