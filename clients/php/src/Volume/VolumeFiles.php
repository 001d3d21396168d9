<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Volume;

use Psr\Http\Message\StreamInterface;
use Sandlot\Http\Api;
use Sandlot\Model\MakeVolumeDirectory;
use Sandlot\Model\MoveVolumePath;
use Sandlot\Model\Operation;
use Sandlot\Model\VolumeDirectoryEntry;
use Sandlot\Model\VolumeEntry;

/**
 * Files of a volume, without a sandbox. Paths are absolute in the volume. Changes are refused with
 * VolumeAttachedException while a sandbox that is not stopped mounts it.
 */
final class VolumeFiles
{
    /** @internal */
    public function __construct(private readonly Api $api, private readonly string $volumeId)
    {
    }

    /**
     * @param string|resource|StreamInterface $content of any size
     * @param string|null $mode octal, such as 0644
     */
    public function write(string $path, mixed $content, ?string $mode = null): VolumeEntry
    {
        return VolumeEntry::read(
            $this->api->upload(Operation::WriteVolumeFile, $this->path(), ['path' => $path, 'mode' => $mode], $content),
        );
    }

    public function read(string $path): string
    {
        return $this->open($path)->getContents();
    }

    /** The bytes as they come. */
    public function open(string $path): StreamInterface
    {
        return $this->api->download(Operation::ReadVolumeFile, $this->path(), ['path' => $path]);
    }

    /** @return \Generator<int, VolumeDirectoryEntry> in the order of the file system */
    public function list(string $path = '/', int $pageSize = 1000): \Generator
    {
        $query = ['path' => $path, 'limit' => $pageSize];
        $read = VolumeDirectoryEntry::read(...);
        return $this->api->pages(Operation::ListVolumeDirectory, $this->path(), $query, 'entries', $read);
    }

    /** Of a link itself. */
    public function stat(string $path): VolumeEntry
    {
        return VolumeEntry::read($this->api->call(Operation::ShowVolumePath, $this->path(), ['path' => $path]));
    }

    public function makeDirectory(string $path, ?string $mode = null): VolumeEntry
    {
        $wish = new MakeVolumeDirectory(path: $path, mode: $mode);
        return VolumeEntry::read($this->api->call(Operation::MakeVolumeDirectory, $this->path(), body: $wish));
    }

    /** What is there already is not replaced. */
    public function move(string $from, string $to): VolumeEntry
    {
        $wish = new MoveVolumePath(from: $from, to: $to);
        return VolumeEntry::read($this->api->call(Operation::MoveVolumePath, $this->path(), body: $wish));
    }

    public function remove(string $path, bool $recursive = false): void
    {
        $this->api->call(Operation::RemoveVolumePath, $this->path(), ['path' => $path, 'recursive' => $recursive]);
    }

    /** @return array<string, string> */
    private function path(): array
    {
        return ['id' => $this->volumeId];
    }
}
