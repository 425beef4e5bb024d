"""Reading a topic as slabs: through aiokafka's compiled parser, without a record object each.

``parser`` and ``tolerant`` know bytes, ``hook`` knows aiokafka's fetcher, ``stock`` is the way without the hook,
``selfcheck`` compares the two on synthetic bytes before the hook is trusted.
"""
