<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Http\Message;

use Psr\Http\Message\StreamInterface;

/**
 * A PHP stream as a body: a file, a pipe, or text in memory.
 *
 * @internal
 */
final class ResourceStream implements StreamInterface
{
    /** @param resource|null $resource */
    public function __construct(private $resource)
    {
    }

    public static function of(string $text): self
    {
        $resource = fopen('php://temp', 'w+') ?: throw new \RuntimeException('There is no room for a body.');
        fwrite($resource, $text);
        rewind($resource);
        return new self($resource);
    }

    public function __toString(): string
    {
        if ($this->isSeekable()) {
            $this->rewind();
        }
        return $this->getContents();
    }

    public function close(): void
    {
        $resource = $this->detach();
        if ($resource !== null) {
            fclose($resource);
        }
    }

    public function detach()
    {
        $resource = $this->resource;
        $this->resource = null;
        return $resource;
    }

    /** Of ordinary files and memory; a pipe has none. */
    public function getSize(): ?int
    {
        $facts = fstat($this->resource());
        $hasSize = $facts !== false && (($facts['mode'] & 0o170000) === 0o100000 || $this->isSeekable());
        return $hasSize ? $facts['size'] : null;
    }

    public function tell(): int
    {
        return (int) ftell($this->resource());
    }

    public function eof(): bool
    {
        return feof($this->resource());
    }

    public function isSeekable(): bool
    {
        return stream_get_meta_data($this->resource())['seekable'];
    }

    public function seek($offset, $whence = SEEK_SET): void
    {
        if (!$this->isSeekable() || fseek($this->resource(), $offset, $whence) !== 0) {
            throw new \RuntimeException("The stream has no place {$offset}.");
        }
    }

    public function rewind(): void
    {
        $this->seek(0);
    }

    public function isWritable(): bool
    {
        return strpbrk(stream_get_meta_data($this->resource())['mode'], 'waxc+') !== false;
    }

    public function write($string): int
    {
        $written = fwrite($this->resource(), $string);
        return $written !== false ? $written : throw new \RuntimeException('The stream cannot be written.');
    }

    public function isReadable(): bool
    {
        return strpbrk(stream_get_meta_data($this->resource())['mode'], 'r+') !== false;
    }

    public function read($length): string
    {
        $data = $length > 0 ? fread($this->resource(), $length) : '';
        return $data !== false ? $data : throw new \RuntimeException('The stream cannot be read.');
    }

    public function getContents(): string
    {
        $data = stream_get_contents($this->resource());
        return $data !== false ? $data : throw new \RuntimeException('The stream cannot be read.');
    }

    public function getMetadata($key = null)
    {
        $data = stream_get_meta_data($this->resource());
        return $key === null ? $data : ($data[$key] ?? null);
    }

    /** @return resource */
    private function resource()
    {
        return $this->resource ?? throw new \RuntimeException('The stream is closed.');
    }
}
