#!/usr/bin/env bash
# The Python package (python/orrery) against the library that was built: with the Python that has NumPy, if one has.
set -u
: "${BUILD:?the build folder}"
python=
for p in python3 /usr/bin/python3; do
    command -v $p >/dev/null || continue
    [ -n "$python" ] || python=$p
    $p -c 'import numpy' 2>/dev/null && python=$p && break
done
if [ -z "$python" ]; then
    echo "python3 is not there: skipped"
    exit 77
fi
$python -c 'import numpy' 2>/dev/null || echo "numpy is not there (Debian: python3-numpy): its tests are skipped"
export ORRERY_LIBRARY=$BUILD/liborrery.so ORRERY_DATA=${ORRERY_DATA:-$SOURCE} PYTHONDONTWRITEBYTECODE=1
exec $python "$SOURCE/tests/test_python.py" -v
