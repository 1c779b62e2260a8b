"""Pushes to browsers (RFC 8030, 8291, 8292): what waits for somebody reaches a closed page too.

``keys`` signs and encrypts, ``book`` keeps who wants what, ``sender`` speaks to push services,
``watch`` decides what is worth a notification, ``commands`` are the methods. What pushes need of
other libraries is loaded once somebody has subscribed.
"""
