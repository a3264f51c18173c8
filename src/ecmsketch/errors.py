"""Every error raised on purpose. All are picklable, so that they cross Spark workers intact."""


class EcmError(Exception):
    """The root of every error ecmsketch raises on purpose."""


class ConfigError(EcmError, ValueError):
    """A setting is outside its allowed range."""


class InputError(EcmError, ValueError):
    """Items, ticks or weights that cannot be counted. Nothing of the batch was counted."""


class LateArrivalError(InputError):
    """A tick lies behind the sketch's clock and the policy is `late="raise"`."""


class QueryError(EcmError, ValueError):
    """A question that the sketch cannot answer, such as a range longer than its window."""


class MergeError(EcmError, ValueError):
    """Sketches that cannot be combined."""


class FormatError(EcmError, ValueError):
    """Bytes that are not a readable sketch: truncated, corrupt, or of an unknown version."""


class StoreError(EcmError):
    """A store that cannot be read or written: absent, some other table, a corrupt row, or too many writers at once."""


class EmptyStoreError(StoreError):
    """A store that holds no sketches, where some are needed."""
