# Measures scikit-learn for versus: reads JSON lines of texts from the file named in its argument, and
# then a command a line: "pairs" or "nearest". For each it prints the seconds that it took, and how
# much it found.
import json
import sys
import time

import sklearn
from sklearn.feature_extraction.text import TfidfVectorizer

with open(sys.argv[1], encoding="utf-8") as f:
    texts = [json.loads(line) for line in f]
vectors = TfidfVectorizer(token_pattern=r"(?u)\w+", sublinear_tf=True).fit_transform(texts)
print(json.dumps({"version": sklearn.__version__}), flush=True)
for command in sys.stdin:
    start, found = time.perf_counter(), 0
    if command.strip() == "pairs":
        for i in range(0, vectors.shape[0], 1000):
            similarities = vectors[i : i + 1000] @ vectors.T
            found += int((similarities.data >= 0.5).sum())
        found = (found - vectors.shape[0]) // 2
    else:  # the 10 nearest of the first 1000, 100 at a time
        for i in range(0, 1000, 100):
            similarities = (vectors[i : i + 100] @ vectors.T).toarray()
            found += similarities.argpartition(-10, axis=1)[:, -10:].size
    print(json.dumps({"seconds": time.perf_counter() - start, "found": found}), flush=True)
