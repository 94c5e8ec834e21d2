#include "server/explorer/explorer.h"

// The assembler puts the page into the program, as report/html/html_page.cc does with its files.
__asm__(
    ".section .rodata\n.balign 16\n.global dfsim_explorer_page\ndfsim_explorer_page:\n.incbin "
    "\"" DFSIM_EXPLORER_DIR
    "/explorer.html\"\n.global dfsim_explorer_page_end\ndfsim_explorer_page_end:\n.byte "
    "0\n.previous\n");
// NOLINTBEGIN(readability-identifier-naming): names of the assembler
extern "C" const char dfsim_explorer_page[];
extern "C" const char dfsim_explorer_page_end[];
// NOLINTEND(readability-identifier-naming)

namespace dfsim::server {

std::string_view explorer_page() {
  return {dfsim_explorer_page, static_cast<size_t>(dfsim_explorer_page_end - dfsim_explorer_page)};
}

}  // namespace dfsim::server
