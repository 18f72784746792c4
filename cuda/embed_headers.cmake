# What cuda/chain_source.cpp hands to NVRTC: the headers of elementwise functions as string literals, in chain_headers.inc.
set(headers cuda/rtc/std.h cuda/rtc/dtype.h core/ops/math/selu_constants.h cuda/arithmetic.h cuda/chain.h cuda/complex.h cuda/device_code.h
    cuda/element_code.h cuda/functions/activation.h cuda/functions/arithmetic.h cuda/functions/comparison.h cuda/functions/division.h
    cuda/functions/exponential.h cuda/functions/unary.h cuda/narrow.h)
set(text "")
foreach(header IN LISTS headers)
  file(READ ${CMAKE_SOURCE_DIR}/${header} content)
  string(APPEND text "{\"${header}\", R\"header(${content})header\"},\n")
  set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${header})
endforeach()
set(EMPLACE_CHAIN_HEADERS ${CMAKE_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${EMPLACE_CHAIN_HEADERS})
set(old "")
if(EXISTS ${EMPLACE_CHAIN_HEADERS}/chain_headers.inc)
  file(READ ${EMPLACE_CHAIN_HEADERS}/chain_headers.inc old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${EMPLACE_CHAIN_HEADERS}/chain_headers.inc "${text}")
endif()
