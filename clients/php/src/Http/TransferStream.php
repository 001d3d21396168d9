<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Http;

use Psr\Http\Message\StreamInterface;

/**
 * The body of an answer as it comes in. It is read once, from its beginning to its end; who closes it
 * before breaks the exchange off.
 *
 * @internal
 */
final class TransferStream implements StreamInterface
{
    private int $place = 0;

    public function __construct(private ?Transfer $transfer)
    {
    }

    public function __destruct()
    {
        $this->close();
    }

    public function __toString(): string
    {
        return $this->getContents();
    }

    public function close(): void
    {
        $this->transfer?->close();
        $this->transfer = null;
    }

    public function detach()
    {
        $this->close();
        return null;
    }

    public function getSize(): ?int
    {
        $length = $this->transfer?->headers()['Content-Length'][0] ?? null;
        return $length === null ? null : (int) $length;
    }

    public function tell(): int
    {
        return $this->place;
    }

    public function eof(): bool
    {
        return $this->transfer === null || $this->transfer->isAtEnd();
    }

    public function isSeekable(): bool
    {
        return false;
    }

    public function seek($offset, $whence = SEEK_SET): void
    {
        throw new \RuntimeException('An answer is read once.');
    }

    public function rewind(): void
    {
        $this->seek(0);
    }

    public function isWritable(): bool
    {
        return false;
    }

    public function write($string): int
    {
        throw new \RuntimeException('An answer is not written.');
    }

    public function isReadable(): bool
    {
        return $this->transfer !== null;
    }

    public function read($length): string
    {
        if ($this->transfer === null) {
            throw new \RuntimeException('The answer was closed.');
        }
        $piece = $this->transfer->read($length);
        $this->place += strlen($piece);
        return $piece;
    }

    public function getContents(): string
    {
        $text = '';
        while ($this->transfer !== null && ($piece = $this->read(1 << 20)) !== '') {
            $text .= $piece;
        }
        return $text;
    }

    public function getMetadata($key = null)
    {
        return $key === null ? [] : null;
    }
}
