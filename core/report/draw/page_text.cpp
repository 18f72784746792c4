#include "core/report/draw/page_text.h"

#define EMPLACE_EMBED_PAGE(symbol, file)                                                 \
  __asm__(".pushsection .rodata." #symbol ",\"a\"\n" #symbol                             \
          ":\n"                                                                          \
          ".incbin \"" EMPLACE_PAGE_DIR "/" file "\"\n" #symbol "_end:\n.popsection\n"); \
  extern "C" const char symbol[] __attribute__((visibility("hidden")));                  \
  extern "C" const char symbol##_end[] __attribute__((visibility("hidden")))

EMPLACE_EMBED_PAGE(emplace_page_style, "page.css");
EMPLACE_EMBED_PAGE(emplace_page_body, "page.html");
EMPLACE_EMBED_PAGE(emplace_page_script, "page.js");
EMPLACE_EMBED_PAGE(emplace_page_checks, "page_check.js");

namespace emplace {

PageText page_text() {
  return {{emplace_page_style, emplace_page_style_end},
          {emplace_page_body, emplace_page_body_end},
          {emplace_page_script, emplace_page_script_end},
          {emplace_page_checks, emplace_page_checks_end}};
}

}  // namespace emplace
