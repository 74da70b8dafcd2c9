# Compiler flags: what is warned about, what the arithmetic must mean, which processor it is for.
set(orrery_warnings -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wundef
    -Wwrite-strings -Wvla)
if(CMAKE_C_COMPILER_ID STREQUAL GNU)
  list(APPEND orrery_warnings -Wlogical-op
       -Wno-format-truncation) # snprintf is used because it truncates
endif()
if(CMAKE_C_COMPILER_ID MATCHES Clang)
  list(APPEND orrery_warnings -Wno-pass-failed) # a hint to vectorise is a hint
endif()
if(ORRERY_WERROR)
  list(APPEND orrery_warnings -Werror)
endif()

# A fused multiply-add where the kernel did not ask for one changes results; nobody here reads errno
# after a math function.
set(orrery_semantics -ffp-contract=off -fno-math-errno)

# The processor: the executor is SIMD code, and the models count bits. The command checks at start that the processor can run it.
set(orrery_machine "")
if(ORRERY_MARCH)
  set(orrery_machine -march=${ORRERY_MARCH})
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(orrery_machine -mavx2 -mfma -mf16c -mbmi -mbmi2 -mlzcnt -mpopcnt -mmovbe)
endif()

set(orrery_sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
set(orrery_sanitizer_libs -fsanitize=address,undefined)
if(CMAKE_C_COMPILER_ID MATCHES Clang) # checked 128-bit products are in its own runtime only
  list(APPEND orrery_sanitizer_libs -rtlib=compiler-rt -unwindlib=libgcc)
endif()
if(ORRERY_SANITIZE)
  add_compile_options(${orrery_sanitizers} -O1)
  add_link_options(${orrery_sanitizer_libs})
endif()
if(ORRERY_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "the fuzzers need clang: cmake -DCMAKE_C_COMPILER=clang -DORRERY_FUZZ=ON ...")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
