"""Near-duplicate texts: Chinese and English first, everything else well.

    import neardup
    result = neardup.dedup(texts)
    unique = [texts[i] for i in result.kept]

dedup finds near-duplicates among texts, and Deduplicator among documents that come and go, in memory or in files. sum64, sum128
and distance are SimHash fingerprints, and Index finds them; sign and jaccard are MinHash signatures, and SignatureIndex finds them.
passages finds what is copied inside texts, and decontaminate finds test items in them. Everything is computed by the Go library of the
same version: https://github.com/neardup/neardup.
"""

from ._dedup import Added, Deduplicator, Estimate, Explanation, Family, Group, Kind, Match, Pair, Result, dedup, open
from ._functions import distance, jaccard, sign, sign_many, sum64, sum64_many, sum128, version
from ._index import Index, Near, NearGroup, NearPair, SignatureIndex
from ._native import NeardupError
from ._passages import Leak, Passage, Place, decontaminate, passages

__version__ = "0.1.0"
__all__ = ["Added", "Deduplicator", "Estimate", "Explanation", "Family", "Group", "Index", "Kind", "Leak", "Match", "Near", "NearGroup", "NearPair", "NeardupError", "Pair", "Passage", "Place", "Result", "SignatureIndex", "decontaminate", "dedup", "distance", "jaccard", "open", "passages", "sign", "sign_many", "sum64", "sum64_many", "sum128", "version"]
