"""Permissions of users in virtual hosts."""
