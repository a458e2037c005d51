"""The one error of files that cannot be used."""


class ModelFileError(ValueError):
    """A file that is damaged, of another kind or version, or that holds what it may not; or a place or a model that no
    file can be made for. The message says what is wrong and what to do."""
